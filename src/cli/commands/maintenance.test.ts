import { describe, expect, test } from 'vitest'
import { fakeRun, RUN_ID, RUNNING } from '../../../test/support/fake-maintenance.ts'
import { fakeEnvironment } from '../../../test/support/fake-environment.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { outcomeOf, TERMINAL_CODES } from '../../contracts/outcomes.ts'
import type { CommandContext } from '../command-context.ts'
import { formatOutput, type Format } from '../format-output.ts'
import { startMaintenanceRun } from './maintenance.ts'

type Answer = object | Error

/** A server that gives these answers, one a call. */
function clientOf(answers: readonly Answer[], format: Format = 'json') {
  const environment = fakeEnvironment()
  const calls: [name: string, input: Record<string, unknown>][] = []
  const left = [...answers]
  const ctx = {
    environment,
    settings: { format, timeoutMs: 30_000, interactive: false, color: false },
    info: (line: string) => void environment.stderr.write(`${line}\n`),
    print: (data: unknown, view: Parameters<typeof formatOutput>[1]) =>
      void environment.stdout.write(formatOutput(data, view, format)),
    callOperation: async (name: string, input: Record<string, unknown>) => {
      calls.push([name, input])
      const answer = left.shift()
      if (answer instanceof Error) throw answer
      return answer
    },
  } as unknown as CommandContext
  return { ctx, calls, environment }
}

const created = (changes: object = {}) => ({
  ...fakeRun(RUNNING),
  status: 'queued',
  replayed: false,
  ...changes,
})
const endedWith = (code: string) => {
  const { outcome, chip, exitCode } = outcomeOf(code)
  return fakeRun({ terminal_code: code, outcome, chip, exit_code: exitCode })
}
const run = (ctx: CommandContext, options: Record<string, string | boolean> = {}) =>
  startMaintenanceRun(ctx, { args: { app: 'shop' }, options })
const linesOf = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

describe('run --follow --json', () => {
  test.each([...TERMINAL_CODES, 'something_new'])(
    '%s: created, each change, and exactly one summary, with the exit code of its outcome',
    async (code) => {
      const { ctx, environment } = clientOf([created(), fakeRun(RUNNING), endedWith(code)])
      const { outcome, exitCode } = outcomeOf(code)
      expect(await run(ctx, { follow: true })).toBe(exitCode)
      const lines = linesOf(environment.out())
      expect(lines.map(({ event }) => event)).toEqual(['execution_created', 'status_changed', 'summary'])
      expect(lines.at(-1)).toMatchObject({ execution_id: RUN_ID, outcome, exit_code: exitCode })
    },
  )

  test('a code that a server does not explain is never healthy', async () => {
    const odd = { ...fakeRun(), terminal_code: 'all_good', outcome: null, chip: null, exit_code: null }
    const { ctx } = clientOf([created(), odd])
    expect(await run(ctx, { follow: true })).toBe(1)
  })

  test('names the proposal, when there is one', async () => {
    const { ctx, environment } = clientOf([created(), { ...endedWith('proposed'), proposal_id: 'pr_1' }])
    expect(await run(ctx, { follow: true })).toBe(0)
    expect(linesOf(environment.out()).at(-1)).toMatchObject({ outcome: 'proposed', proposal_id: 'pr_1' })
  })

  test('a replayed run that has ended is told at once, and nothing is asked again', async () => {
    const replayed = { ...endedWith('found_nothing'), replayed: true }
    const { ctx, calls, environment } = clientOf([replayed])
    expect(await run(ctx, { follow: true, 'idempotency-key': 'k1' })).toBe(0)
    expect(calls.map(([name]) => name)).toEqual(['startMaintenanceRun'])
    expect(calls[0]?.[1]).toMatchObject({ idempotency_key: 'k1' })
    expect(linesOf(environment.out()).map(({ event, replayed }) => [event, replayed])).toEqual([
      ['execution_created', true],
      ['summary', undefined],
    ])
  })

  test('a status that has not changed is not told again', async () => {
    const { ctx, calls, environment } = clientOf([
      created(),
      fakeRun(RUNNING),
      fakeRun(RUNNING),
      endedWith('skipped'),
    ])
    await run(ctx, { follow: true })
    expect(linesOf(environment.out())).toHaveLength(3)
    expect(calls.slice(1).map(([, { status, wait }]) => [status, wait])).toEqual([
      ['queued', 20],
      ['running', 20],
      ['running', 20],
    ])
  })

  test('what cannot be asked any more ends it with that error, and without a summary', async () => {
    const { ctx, environment } = clientOf([created(), new ServiceError('UNAUTHENTICATED')])
    await expect(run(ctx, { follow: true })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(linesOf(environment.out()).map(({ event }) => event)).toEqual(['execution_created'])
  })

  test('as text it tells the same, and text of the model is one plain line', async () => {
    const ended = { ...endedWith('finding_recorded'), summary: 'bad\u001b[2J\nexecution_created' }
    const { ctx, environment } = clientOf([created(), ended], 'table')
    expect(await run(ctx, { follow: true })).toBe(11)
    expect(environment.out().trim().split('\n')).toEqual([
      `${RUN_ID} created`,
      'Finding recorded; bad\\u001b[2J execution_created; 120 tokens',
    ])
  })
})

describe('run', () => {
  test('names the run while it waits, prints it, and says where its finding is', async () => {
    const { ctx, environment } = clientOf([created(), endedWith('finding_recorded')], 'table')
    expect(await run(ctx)).toBe(11)
    expect(environment.out()).toMatch(/^EXECUTION +STATUS +RESULT[^]*Finding recorded/)
    expect(environment.err().split('\n')).toEqual([
      `${RUN_ID} created`,
      expect.stringContaining(`/console/apps/shop/maintenance/runs/${RUN_ID}`),
      '',
    ])
    const healthy = clientOf([created({ replayed: true }), endedWith('found_nothing')], 'table')
    await run(healthy.ctx)
    expect(healthy.environment.err()).toBe(`${RUN_ID} was started before\n`)
  })

  test('a server that has too many requests is not asked for ever', async () => {
    const busy = () => new ServiceError('RATE_LIMITED', 'Too many', { retryAfterSeconds: 0 })
    const once = clientOf([created(), busy(), endedWith('found_nothing')])
    expect(await run(once.ctx)).toBe(0)
    const { ctx, calls } = clientOf([created(), ...Array.from({ length: 100 }, busy)])
    await expect(run(ctx)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    expect(calls).toHaveLength(11)
  })

  test('--async does not wait, and says nothing about the outcome', async () => {
    const { ctx, calls, environment } = clientOf([created()])
    expect(await run(ctx, { async: true })).toBe(0)
    expect(calls).toHaveLength(1)
    expect(JSON.parse(environment.out())).toMatchObject({ execution_id: RUN_ID, status: 'queued' })
  })

  /** Threat: an answer that is lost, and a second run because of it. */
  test('a request that is sent again has the same key', async () => {
    const lost = new ServiceError('UNEXPECTED', 'the connection was closed')
    const { ctx, calls } = clientOf([lost, created({ replayed: true }), endedWith('found_nothing')])
    expect(await run(ctx)).toBe(0)
    const keys = calls.slice(0, 2).map(([, { idempotency_key }]) => idempotency_key)
    expect(keys[0]).toMatch(/^cli-[0-9a-f-]{36}$/)
    expect(keys[1]).toBe(keys[0])
  })

  test('too many starts are told at once, not waited for', async () => {
    const { ctx, calls } = clientOf([
      new ServiceError('RATE_LIMITED', 'Too many', { retryAfterSeconds: 3_000 }),
    ])
    await expect(run(ctx)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    expect(calls).toHaveLength(1)
  })

  test.each([
    [{ follow: true, async: true }, /--follow conflicts with --async/],
    [{ follow: true }, /conflicts with -o yaml/],
  ])('%j is refused before anything is started', async (options, why) => {
    const { ctx, calls } = clientOf([], 'yaml')
    await expect(run(ctx, options)).rejects.toThrow(why)
    expect(calls).toEqual([])
  })
})
