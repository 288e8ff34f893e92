/** What is open is known by whose it is, and nothing is written for whoever's access has ended. */
import { setImmediate } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import {
  answerBelongsTo,
  answerIs,
  createOpenAnswers,
  extendAnswer,
  extendingAnswer,
  spareAnswer,
  untilMayAnswer,
  whoseOf,
  type OpenAnswer,
} from './open-answers.ts'

function opening(answers = createOpenAnswers()) {
  const open = (whose?: readonly string[], also: () => void = () => {}) => {
    const reset = vi.fn<() => void>()
    let opened!: OpenAnswer
    let belongs!: (to: readonly string[]) => void
    answers.open({ reset, hasBegun: () => false, hasCredential: true }, (answer) => {
      opened = answer
      if (whose) answerBelongsTo(whose)
      also()
      belongs = bind(answerBelongsTo)
    })
    return { reset, ...opened, belongs }
  }
  return { answers, open }
}

/** Runs later what belongs to the answer that is open now. */
function bind(work: (to: readonly string[]) => void): (to: readonly string[]) => void {
  const given = Promise.withResolvers<readonly string[]>()
  void given.promise.then(work)
  return given.resolve
}

const isSettled = async (promise: Promise<unknown>): Promise<boolean> => {
  let settled = false
  void promise.finally(() => (settled = true))
  await setImmediate()
  return settled
}

test('cuts off what is open for it, by kind, and nothing else', async () => {
  const { answers, open } = opening()
  const [own, poll, other] = [
    open(['grt_1', 'org_1']),
    open(['grt_1'], () => answerIs('long_polls')),
    open(['grt_2', 'org_1']),
  ]
  expect(answers.count(['grt_1'])).toEqual({ calls: 1, long_polls: 1, streams: 0, questions: 0 })
  expect(await answers.end(['grt_1'])).toEqual({ calls: 1, long_polls: 1, streams: 0, questions: 0 })
  expect([own.reset, poll.reset, other.reset].map(({ mock }) => mock.calls.length)).toEqual([1, 1, 0])
  expect([own.isOver(), other.isOver()]).toEqual([true, false])
  other.close()
  expect(answers.size()).toBe(0)
})

test('waits for a request of which nobody knows yet whose it is, and cuts it off if it is', async () => {
  const { answers, open } = opening()
  const [mine, strange, gone] = [open(), open(), open()]
  const ended = answers.end(['grt_1'])
  mine.belongs(['grt_1'])
  strange.belongs(['grt_2'])
  expect(await isSettled(ended)).toBe(false)
  gone.close()
  expect(await ended).toMatchObject({ calls: 1 })
  expect([mine.isOver(), strange.isOver()]).toEqual([true, false])
})

test('one that begins afterwards is left to whoever validates it', async () => {
  let now = 0
  const { answers, open } = opening(createOpenAnswers(() => now))
  const before = open(['grt_2'])
  await answers.end(['grt_1'])
  now = 1
  // Connected again, say: it was validated after this process knew of the ending.
  expect(open(['grt_1']).isOver()).toBe(false)
  before.close()
})

test('the answer to the ending itself is written', async () => {
  const { answers, open } = opening()
  const own = open(['usr_1'], spareAnswer)
  await answers.end(['usr_1'])
  expect([own.isOver(), own.reset.mock.calls.length]).toEqual([false, 0])
})

test('a message on its way is waited for', async () => {
  const { answers } = opening()
  const sent = Promise.withResolvers<void>()
  void answers.during(['org_1 usr_1'], () => sent.promise)
  const ended = answers.end(['org_1 usr_1'])
  expect(await isSettled(ended)).toBe(false)
  sent.resolve()
  expect(await isSettled(ended)).toBe(true)
})

test('without its lease a process answers nobody, and not what was open then once it has it again', () => {
  let now = 0
  const { answers, open } = opening(createOpenAnswers(() => now))
  answers.extend(10)
  const [known, unknown] = [open(['grt_1']), open()]
  now = 10
  expect([known.isOver(), unknown.isOver()]).toEqual([true, false])
  answers.extend(20)
  expect([known.isOver(), known.reset.mock.calls.length]).toEqual([true, 1])
  expect(open(['grt_1']).isOver()).toBe(false)
  unknown.close()
})

test('who was validated under a lease that lapsed is not answered under the next one, whenever that is known', async () => {
  let now = 0
  const { answers, open } = opening(createOpenAnswers(() => now))
  answers.extend(10)
  answers.extendBy(async () => answers.extend(20))
  const [before, nobody, ending] = [open(), open(), open(undefined, spareAnswer)]
  let waiting!: Promise<void> | undefined
  const asksAgain = open(undefined, () => void (waiting = Promise.resolve().then(untilMayAnswer)))
  now = 10
  await waiting
  for (const one of [before, ending, asksAgain]) one.belongs(['grt_1'])
  nobody.belongs([])
  await setImmediate()
  expect([before, nobody, ending, asksAgain].map((one) => one.isOver())).toEqual([true, false, false, false])
  for (const one of [nobody, ending, asksAgain]) one.close()
})

test('half of a lease before it lapses it is renewed, also where nobody else does', async () => {
  const { answers } = opening()
  const renew = vi.fn<() => Promise<void>>(async () => {})
  answers.extendBy(renew)
  answers.extend(answers.now() + 20)
  await expect.poll(() => renew.mock.calls.length).toBeGreaterThan(0)
  expect(renew).toHaveBeenCalledOnce()
})

test('without a database an answer is written so long after one that has one was last asked', () => {
  let now = 0
  const { open } = opening(createOpenAnswers(() => now, 10))
  const [first, second] = [open(['grt_1']), open(['grt_1'], () => extendAnswer(5))]
  now = 10
  expect([first.isOver(), second.isOver()]).toEqual([true, false])
  now = 15
  expect(second.isOver()).toBe(true)
  for (const one of [first, second]) one.close()
})

test('there each part of an event stream extends it, unless it comes too late', async () => {
  let now = 0
  const { open } = opening(createOpenAnswers(() => now, 10))
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  let body!: ReadableStream<Uint8Array>
  const stream = open(['grt_1'], () => void (body = extendingAnswer(readable)))
  const [writer, reader] = [writable.getWriter(), body.getReader()]
  const pass = async () => {
    void writer.write(new Uint8Array(1))
    await reader.read()
  }
  now = 8
  await pass()
  now = 17
  expect(stream.isOver()).toBe(false)
  now = 18
  await pass()
  expect([stream.isOver(), stream.reset.mock.calls.length]).toEqual([true, 1])
})

test('an answer that began in the very moment of an ending is cut off, once it is known whose it is', async () => {
  const { answers, open } = opening(createOpenAnswers(() => 0))
  const [ended, other] = [open(), open()]
  const over = answers.end(['org_1 usr_1'])
  other.belongs(['org_1 usr_2'])
  ended.belongs(['org_1 usr_1'])
  expect(await over).toMatchObject({ calls: 1 })
  expect([ended.isOver(), other.isOver()]).toEqual([true, false])
})

test('a principal ends with all that it stands on, a machine agent also with whoever answers for it', () => {
  const agent = { orgId: 'org_1', userId: 'usr_agent', grantId: 'grt_1' }
  expect(whoseOf({ ...agent, machineAgent: { id: 'mag_1', ownerId: 'usr_owner' } })).toEqual([
    'grt_1',
    'org_1',
    'org_1 usr_agent',
    'org_1 usr_owner',
  ])
  expect(whoseOf({ ...agent, orgId: null, sessionId: 'ses_1' })).toEqual(['grt_1', 'ses_1'])
})
