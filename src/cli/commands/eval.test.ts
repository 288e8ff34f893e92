/** `svc datasource eval` with a server that dies between counting and answering, and one that refuses the threshold. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fakeEnvironment } from '../../../test/support/fake-environment.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { EVAL } from '../../contracts/limits.ts'
import type { CommandContext } from '../command-context.ts'
import { evaluateDataSource } from './eval.ts'

const COUNT = EVAL.perCall + 3

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-eval-'))
  const questions = Array.from({ length: COUNT }, (_, at) => ({
    question: `Question ${at}`,
    expect: [`r${at}`],
  }))
  writeFileSync(join(folder, 'questions.json'), JSON.stringify(questions))
})
afterAll(() => rmSync(folder, { recursive: true }))

type Asked = { readonly from: number; readonly questions: readonly { readonly expect: readonly string[] }[] }

/** A server that finds nothing, as this one counts. `losing`: the answers to these calls get lost, the first is 0. */
function evaluate({ losing = [], atMost = EVAL.perCall }: { losing?: readonly number[]; atMost?: number }) {
  let [asked, calls] = [0, 0]
  const froms: number[] = []
  const printed: { misses: { question: string; missing: string[] }[] }[] = []
  const evalNow = () => ({ id: 'evl_1', questions: COUNT, asked, recall_at_5: 0, mrr: 0 })
  const answers: Record<string, (input: Asked) => object> = {
    startEval: evalNow,
    askEval: ({ from, questions }) => {
      froms.push(from)
      const next = (from < asked ? questions.slice(0, asked - from) : questions).slice(0, atMost)
      asked = Math.max(asked, from + next.length)
      if (losing.includes(calls++)) {
        throw new ServiceError('UNEXPECTED', undefined, { retryAfterSeconds: 0 })
      }
      const found = next.map(({ expect }) => ({ rank: null, missing: [...expect], hits: [] }))
      return { eval: evalNow(), answers: found }
    },
    setThreshold: () => {
      throw new ServiceError('CONFLICT', 'A threshold needs more')
    },
  }
  const environment = fakeEnvironment({ cwd: folder })
  const ctx = {
    environment,
    settings: { interactive: false, color: false },
    info: () => {},
    print: (data: (typeof printed)[number]) => void printed.push(data),
    callOperation: async (name: string, input: Asked) => answers[name]!(input),
  } as unknown as CommandContext
  const run = (options: Record<string, boolean> = {}) =>
    evaluateDataSource(ctx, {
      args: { source_id: 'db_shop', file: 'questions.json' },
      rest: [],
      options,
    })
  return { run, froms, printed, told: environment.err }
}

test.each([
  ['of the first call', { losing: [0] }],
  ['of the last, which finished it', { losing: [1] }],
  ['of a repeated one', { losing: [0, 1, 3] }],
  ['of calls that answer a part', { losing: [0, 2, 5], atMost: 7 }],
])('an answer that got lost, %s, leaves no question out', async (_, server) => {
  const { run, printed, froms } = evaluate(server)
  await run()
  expect(printed[0]!.misses.map(({ question, missing }) => [question, ...missing])).toEqual(
    Array.from({ length: COUNT }, (__, at) => [`Question ${at}`, `r${at}`]),
  )
  expect(froms.filter((from, at) => froms.indexOf(from) !== at)).toHaveLength(server.losing.length)
})

test('a threshold that is refused takes nothing from what is told', async () => {
  const { run, printed, told } = evaluate({})
  await expect(run({ 'set-threshold': true })).rejects.toThrow('A threshold needs more')
  expect(printed).toEqual([])
  expect(told()).toContain(`Question ${COUNT - 1}\n    missing: r${COUNT - 1}`)
})
