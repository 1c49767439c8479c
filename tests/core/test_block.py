"""The block and its attention against torch's, with the weights of torch's layers."""

import itertools
import re

import pytest
import torch
from torch import nn

from attention import MultiHeadAttention, TransformerBlock

N, D, HEADS, HIDDEN = 7, 6, 2, 13


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_block_is_torchs(norm_first, activation):
    for batch_first, bias in itertools.product((True, False), repeat=2):
        theirs = nn.TransformerEncoderLayer(
            D,
            HEADS,
            HIDDEN,
            dropout=0.0,
            activation=activation,
            norm_first=norm_first,
            batch_first=batch_first,
            bias=bias,
            dtype=torch.float64,
        )
        for parameter in theirs.parameters():  # also those that start as ones and zeros
            nn.init.normal_(parameter)
        ours = TransformerBlock.from_torch(theirs)
        x = torch.randn(5, N, D, dtype=torch.float64)
        expected = theirs(x if batch_first else x.transpose(0, 1))
        expected = expected if batch_first else expected.transpose(0, 1)
        torch.testing.assert_close(ours(x), expected, rtol=0, atol=1e-10)


def test_all_that_a_layer_is_is_copied():
    theirs = nn.TransformerEncoderLayer(D, HEADS, HIDDEN, dropout=0.5, batch_first=True)
    theirs.norm2.eps = 0.1
    theirs.dropout1.p = theirs.dropout2.p = 0.25
    theirs.self_attn.in_proj_weight.requires_grad_(False)
    theirs.linear2.bias.requires_grad_(False)
    theirs.activation = nn.PReLU()
    theirs.dropout.eval()
    ours, x = TransformerBlock.from_torch(theirs), torch.randn(3, N, D)
    frozen = {name for name, each in ours.named_parameters() if not each.requires_grad}
    stacked = {f"attention.W_{part}.weight" for part in ("query", "key", "value")}
    assert frozen == {*stacked, "feed_forward.3.bias"}
    assert (ours.dropout.p, ours.feed_forward[2].p, ours.attention.dropout) == (0.25, 0.5, 0.5)
    assert (ours.training, ours.feed_forward[2].training) == (True, False)
    assert not torch.equal(ours(x), ours(x))
    torch.testing.assert_close(ours.eval()(x), theirs.eval()(x))
    with torch.no_grad():
        ours.feed_forward[0].weight.zero_()  # ours is a copy, and no second name
    assert theirs.linear1.weight.all()


class Halved(nn.TransformerEncoderLayer):
    def forward(self, x, *arguments, **options):
        return super().forward(x, *arguments, **options) / 2


class OwnFeedForward(nn.TransformerEncoderLayer):
    def _ff_block(self, x):
        return x


def test_what_ours_does_not_have_is_refused():
    attention, block = MultiHeadAttention, TransformerBlock
    uneven = nn.TransformerEncoderLayer(6, 2)
    uneven.dropout2.p = 0.3
    hooked = nn.TransformerEncoderLayer(6, 2)
    hooked.register_forward_hook(lambda layer, x, output: 2 * output)
    cases = [
        (attention, nn.Linear(2, 2), TypeError, "expected an nn.MultiheadAttention"),
        (attention, nn.MultiheadAttention(6, 2, kdim=4), ValueError, "kdim 4"),
        (attention, nn.MultiheadAttention(6, 2, add_bias_kv=True), ValueError, "add_bias_kv True"),
        (attention, nn.MultiheadAttention(6, 2, add_zero_attn=True), ValueError, "attn True"),
        (block, nn.Linear(2, 2), TypeError, "expected an nn.TransformerEncoderLayer"),
        (block, nn.TransformerEncoderLayer(6, 2, activation=torch.tanh), ValueError, "gelu or"),
        (block, Halved(6, 2), TypeError, "got a Halved with forward of its own"),
        (block, OwnFeedForward(6, 2), TypeError, "with _ff_block of its own"),
        (block, hooked, TypeError, "with hooks of its own"),
        (block, uneven, ValueError, "got Dropout(p=0.1, inplace=False) and Dropout(p=0.3, "),
    ]
    for kind, layer, error, message in cases:
        with pytest.raises(error, match=re.escape(message)):
            kind.from_torch(layer)
