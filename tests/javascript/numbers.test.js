"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { openPage, same } = require("./page.js");

const { readNumber, readingsOfMany, readingsOfOne } = openPage().numberReader;
const values = (typed) => readingsOfMany(typed).map(({ value }) => value);

// What people type and Python prints where one number is asked for, and all that it can mean
const ONE = {
  0.5: [0.5],
  " -.5 ": [-0.5],
  "+1e-5": [1e-5],
  "0,5": [0.5],
  "-0,125": [-0.125],
  "1,2345": [1.2345],
  "12,704": [12704, 12.704],
  "1.234,5": [1234.5],
  "1 234,5": [1234.5],
  "1’234.5": [1234.5],
  "12_704": [12704],
  "\u22122": [-2],
  "\u2013 2": [-2],
  "\uff0d0,5": [-0.5],
  "0·25": [0.25],
  "17.2 %": [0.172],
  "-17,2%": [-0.172],
  "10 % 3": [],
  "1e-3%": [],
  "\u200b0.25\ufeff": [0.25],
  "tensor(0.1720)": [0.172],
  "tensor(0.1720, grad_fn=<DotBackward0>)": [0.172],
  "tensor([0.1720], device='cuda:0')": [0.172],
  "np.float64(0.172)": [0.172],
  "array(0.172, dtype=float32)": [0.172],
  "(0.172)": [0.172],
  "(0.172,)": [0.172],
  "12*32": [],
  "sqrt(2)": [],
  "1; 2": [],
  "1,234 567": [],
  "1 / 3": [],
  "tensor(0.5": [],
  "0.5)": [],
  "": [],
};
for (const [typed, wanted] of Object.entries(ONE)) {
  test(`one number: ${JSON.stringify(typed)}`, () => same(readingsOfOne(typed), wanted));
}

test("of several readings, whoever asks takes the one that fits", () => {
  const isSmall = (number) => Math.abs(number) <= 99;
  assert.equal(readNumber("12,704", isSmall), 12.704);
  assert.equal(readNumber("12,704", Number.isFinite), 12704);
  for (const typed of ["1000", "nan", "inf", "one"]) assert.equal(readNumber(typed, isSmall), null);
});

const LIST = [0.172, 0.708, 0.121];
const MATRIX = [
  [1, 2],
  [3, 4.5],
];
const MANY = {
  "0.172, 0.708, 0.121": [LIST],
  "0.172 0.708 0.121": [LIST],
  "17.2%, 70.8%, 12.1%": [LIST],
  "17.2 %  70.8 % 12.1 %": [LIST],
  "0.172; 0.708; 0.121": [LIST],
  "0,172 0,708 0,121": [[0, 172, 0, 708, 0, 121], LIST],
  "0,172, 0,708, 0,121": [[0, 172, 0, 708, 0, 121], LIST],
  "0,172; 0,708; 0,121": [
    [
      [0, 172],
      [0, 708],
      [0, 121],
    ],
    LIST,
  ],
  "tensor([0.1720, 0.7080, 0.1210])": [LIST],
  "tensor([0.1720, 0.7080, 0.1210], dtype=torch.float64, requires_grad=True)": [LIST],
  "(0.172, 0.708, 0.121)": [LIST],
  "[0.172 0.708 0.121]": [LIST],
  "array([0.172, 0.708, 0.121], dtype=float32)": [LIST],
  "[np.float64(0.172), np.float64(0.708), tensor(0.1210)]": [LIST],
  "Parameter containing:\ntensor([0.1720, 0.7080, 0.1210], requires_grad=True)": [LIST],
  "tensor([[1.0000, 2.0000],\n        [3.0000, 4.5000]], grad_fn=<MmBackward0>)": [MATRIX],
  "[[1.  2. ]\n [3.  4.5]]": [MATRIX],
  "[(1, 2), (3, 4.5)]": [MATRIX],
  "1 2\n3 4.5": [MATRIX],
  "1 2; 3 4.5": [MATRIX],
  "1 2\n3 4,5": [
    [
      [1, 2],
      [3, 4, 5],
    ],
    MATRIX,
  ],
  "torch.Size([6, 2])": [[6, 2]],
  "\u22121, 2": [[-1, 2]],
  5: [5],
  "[1, 2": [],
  "[1, 2] 3": [],
  "tensor([0.1, ..., 0.3])": [],
  "softmax([1, 2])": [],
  "": [[]],
};
for (const [typed, wanted] of Object.entries(MANY)) {
  test(`several numbers: ${JSON.stringify(typed)}`, () => same(values(typed), wanted));
}
