"""A pretrained encoder, which replaces the classifier's embedding."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attention.functional import padding_mask
from attention.pretrained import MINILM_CONFIG, PretrainedEncoder, load_encoder
from attention.sentiment.tokenizer import PIECE_CLS_ID, PIECE_SEP_ID

WIDTH_STEP = 16
"""Batches are padded to multiples of this. On a CPU, torch keeps some 10 MB for each width that it
meets in bfloat16, and having fewer widths took no longer where both were measured."""


class ReviewEncoder(nn.Module):
    r"""Compute the hidden state of each word piece, and tell which pieces belong to the review.

    The encoder reads ``[CLS]`` distractor ``[SEP]`` review ``[SEP]``, as it was trained to read
    pairs of texts, in which the first text and the second have different token types.

    Args:
        fine_tune: Whether the encoder's weights are trained.

    Shape:
        - ids: :math:`(B, n)`, integers, without the special ids around a text; 0 is padding
        - lengths: :math:`(B)`, integers
        - returns: vectors :math:`(B, n, d)`, and a mask :math:`(B, 1, n)`, True for the review

    Source:
        Devlin et al. (2019), BERT, for the special ids and the token types.
    """

    def __init__(self, *, fine_tune: bool) -> None:
        super().__init__()
        self.config = MINILM_CONFIG
        self.pretrained = PretrainedEncoder(self.config).requires_grad_(fine_tune)
        self.embed_dim = self.config.hidden_size

    def load_published(self) -> None:
        """Replace the randomly drawn weights by the published ones.

        Raises:
            ValueError: If they can't be found or downloaded, or are not those that were published.
        """
        self.pretrained.load_state_dict(load_encoder("minilm")[0].state_dict())

    def forward(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return the hidden states, and which of them belong to the review."""
        n = ids.shape[-1]
        width = -(-(n + 2) // WIDTH_STEP) * WIDTH_STEP
        framed = F.pad(ids, (1, width - n - 1))  # (B, width)
        column = torch.arange(width, device=ids.device)  # (width,)
        framed = framed.masked_fill(column == 0, PIECE_CLS_ID)
        framed = framed.masked_fill(column == lengths[:, None] + 1, PIECE_SEP_ID)
        mask = padding_mask(lengths, n)  # (B, 1, n)
        is_front = in_front(ids, mask, PIECE_SEP_ID)  # (B, n)
        types = F.pad(is_front.long(), (1, width - n - 1))  # (B, width)
        x = self.pretrained(framed, lengths + 2, token_types=types)  # (B, width, d)
        x = x[:, 1 : n + 1]  # (B, n, d)
        return x, mask & ~is_front[:, None]


def in_front(ids: Tensor, mask: Tensor, separator_id: int) -> Tensor:
    """Tell which ids are a separator, or in front of one.

    Shape:
        - ids: :math:`(B, n)`
        - mask: :math:`(B, 1, n)`, False for padding
        - returns: :math:`(B, n)`, boolean
    """
    separator = (ids == separator_id) & mask.squeeze(-2)  # (B, n)
    return separator.flip(-1).cumsum(-1).flip(-1) > 0
