/** Reads a file of questions for an eval: YAML, or JSON, which is YAML as well. What is wrong with it is told with its line. */
import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Node } from 'yaml'
import { ServiceError } from '../contracts/errors.ts'
import type { Input } from '../contracts/operations.ts'

export type Question = Input<'askEval'>['questions'][number]

const EXAMPLE = `- question: How many days of holiday do I have?
  expect: [holidays.md#Paid leave]`

const FIELDS = ['question', 'expect', 'target', 'filters'] as const

export function readQuestions(text: string): Question[] {
  const lines = new LineCounter()
  // Every value as it is written: an id of 007 is no number. Filters are read as the types of their columns by the server.
  const document = parseDocument(text, { schema: 'failsafe', lineCounter: lines, uniqueKeys: true })
  const [error] = document.errors
  if (error) throw problemAt(error.linePos?.[0].line ?? 1, 'This is not YAML.')
  const fail = (node: unknown, sentence: string) => {
    const range = (node as Node | null)?.range ?? document.contents?.range
    return problemAt(range ? lines.linePos(range[0]).line : 1, sentence)
  }
  if (!isSeq(document.contents)) throw fail(document.contents, 'The file must be a list of questions.')
  return document.contents.items.map((item) => questionIn(item, fail))
}

type Fail = (node: unknown, sentence: string) => Error

const problemAt = (line: number, sentence: string) =>
  new ServiceError('INVALID_REQUEST', `Line ${line}: ${sentence}`, {
    hint: `Write it as\n${EXAMPLE}`,
  })

function questionIn(item: unknown, fail: Fail): Question {
  if (!isMap(item)) throw fail(item, 'Each question must have the fields question and expect.')
  const known: Partial<Record<string, unknown>> = {}
  for (const { key, value } of item.items) {
    const name = isScalar(key) ? String(key.value) : ''
    if (!FIELDS.some((field) => field === name)) {
      throw fail(key, `A question has no such field. Its fields are ${FIELDS.join(', ')}.`)
    }
    known[name] = value
  }
  const { question, expect, target, filters } = known
  if (expect === undefined)
    throw fail(item, 'expect is missing. Where nothing answers the question: expect: []')
  return {
    question: textIn(question ?? item, fail, 'question must be a text.'),
    expect: (isSeq(expect) ? expect.items : [expect]).map((one) =>
      textIn(one, fail, 'expect must be an id, a path or path#heading, or a list of them.'),
    ),
    ...(target !== undefined && { target: textIn(target, fail, 'target must be the label of a table.') }),
    ...(filters !== undefined && { filters: filtersIn(filters, fail) }),
  }
}

function textIn(node: unknown, fail: Fail, sentence: string): string {
  if (!isScalar(node) || typeof node.value !== 'string' || node.value.trim() === '')
    throw fail(node, sentence)
  return node.value
}

const FILTERS = 'filters must be columns, each with a value, a list of values or a range such as {gte: 10}.'

function filtersIn(node: unknown, fail: Fail): NonNullable<Question['filters']> {
  if (!isMap(node)) throw fail(node, FILTERS)
  const value = (one: unknown) => textIn(one, fail, FILTERS)
  return Object.fromEntries(
    node.items.map(({ key, value: given }) => [
      value(key),
      isSeq(given)
        ? given.items.map(value)
        : isMap(given)
          ? Object.fromEntries(given.items.map((end) => [value(end.key), value(end.value)]))
          : value(given),
    ]),
  )
}
