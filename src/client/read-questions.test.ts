import { expect, test } from 'vitest'
import { readQuestions } from './read-questions.ts'

test('questions of a file, with every value as it is written', () => {
  const text = `# Ours
- question: How many days?
  expect: [leave.md#Paid leave, 007]
- question: >-
    Who is
    on call?
  expect: 12
  target: people
  filters: {year: 2026, team: [a, 'b c'], price: {gte: 1.50}}
- {question: "Is there life: on Mars?", expect: []}
`
  expect(readQuestions(text)).toEqual([
    { question: 'How many days?', expect: ['leave.md#Paid leave', '007'] },
    {
      question: 'Who is on call?',
      expect: ['12'],
      target: 'people',
      filters: { year: '2026', team: ['a', 'b c'], price: { gte: '1.50' } },
    },
    { question: 'Is there life: on Mars?', expect: [] },
  ])
})

test('JSON is read as well', () => {
  expect(readQuestions('[{"question": "Why?", "expect": ["a"]}]')).toEqual([
    { question: 'Why?', expect: ['a'] },
  ])
})

test.each([
  ['- question: a\n  expect: [b\n- question: c\n', /^Line [23]: This is not YAML\.$/],
  ['- question: a\n  question: b\n  expect: c\n', /^Line 2: This is not YAML\.$/],
  ['questions: 1\n', /^Line 1: The file must be a list of questions\.$/],
  ['', /^Line 1: The file must be a list of questions\.$/],
  ['- question: a\n  expect: [b]\n- c\n', /^Line 3: Each question must have the fields/],
  ['- question: a\n  expect: [b]\n\n- question: c\n', /^Line 4: expect is missing\./],
  ['- question: a\n  expected: [b]\n', /^Line 2: A question has no such field\./],
  ['- expect: [b]\n', /^Line 1: question must be a text\.$/],
  ['- question: [a]\n  expect: [b]\n', /^Line 1: question must be a text\.$/],
  ['- question: a\n  expect:\n', /^Line \d: expect must be an id/],
  ['- question: a\n  expect:\n    - b\n    - {c: d}\n', /^Line 4: expect must be an id/],
  ['- question: &x a\n  expect: [*x]\n', /^Line 2: expect must be an id/],
  ['- question: a\n  expect: []\n  filters: year\n', /^Line 3: filters must be columns/],
  ['- question: a\n  expect: []\n  filters:\n    year: {gte: [1]}\n', /^Line 4: filters must be columns/],
])('%j', (text, says) => {
  expect(() => readQuestions(text)).toThrow(says)
})
