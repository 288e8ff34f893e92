/** An operation becomes a route: authenticate, read, do, answer, always in this order. */
import type { Hono } from 'hono'
import type * as z from 'zod'
import type { Caller, Handler, Operation } from '../contracts/operation.ts'
import type { Storage } from '../cores/needs.ts'
import { answer, answerError, formatFor, type Format } from './answer.ts'
import { authenticate, type Authentication } from './authenticate.ts'
import type { HttpContext, HttpEnv } from './context.ts'
import { onlyOnce } from './idempotency.ts'
import { inputReader } from './read-input.ts'

/** An operation beside the verb that does it; a row of a service's table. */
export type Row<Needs> = {
  readonly operation: Operation
  readonly verb: (needs: Needs) => (caller: never, input: never) => Promise<unknown>
  /** Hears of calls that were refused before the verb was reached, for what must leave a trace in any case. */
  readonly refused: ((needs: Needs) => (caller: Caller, error: unknown) => Promise<void>) | undefined
}

/** Checks the pair by type: the verb takes what the operation reads and gives what it promises. */
export const does = <I extends z.ZodObject, O extends z.ZodObject, Needs>(
  operation: Operation<I, O>,
  verb: (needs: Needs) => Handler<Operation<I, O>>,
  refused?: Row<Needs>['refused'],
): Row<Needs> => ({
  operation,
  verb,
  refused,
})

export function mount<Needs extends Partial<Storage>>(
  app: Hono<HttpEnv>,
  rows: readonly Row<Needs>[],
  needs: Needs,
  by: Authentication,
): void {
  for (const row of rows) mountOne(app, row, needs, by)
}

export const routePath = (op: Operation): string => op.http.path.replaceAll(/\{(\w+)\}/g, ':$1')

function mountOne<Needs extends Partial<Storage>>(
  app: Hono<HttpEnv>,
  { operation: op, verb, refused }: Row<Needs>,
  needs: Needs,
  by: Authentication,
): void {
  type Verb = Handler<Operation>
  const read = inputReader(op)
  const act = verb(needs) as Verb
  const success = op.http.success ?? 200
  const hear = refused?.(needs)
  const entered = async <T>(c: HttpContext, enter: () => Promise<T>): Promise<T> => {
    if (!hear) return enter()
    return enter().catch(async (error: unknown) => {
      const caller = c.get('caller')
      if (caller) await hear(caller, error)
      throw error
    })
  }
  app.on(op.http.method.toUpperCase(), routePath(op), async (c) => {
    c.set('route', op.name)
    const format = formatOf(c, op)
    try {
      const { caller, input } = await entered(c, async () => {
        const known = await authenticate(c, op, by)
        return { caller: known, input: await read(c) }
      })
      const key = c.req.header('idempotency-key')
      if (key === undefined || !op.takesIdempotencyKey) {
        return await answer(c, op.output.parse(await act(caller, input)), success, format)
      }
      const kept = await onlyOnce(
        needs as Storage,
        { caller, operation: op, key, input, status: success },
        async (db) => op.output.parse(await (verb({ ...needs, db }) as Verb)(caller, input)),
      )
      const response = await answer(c, kept.body, kept.status, format)
      if (kept.replayed) response.headers.set('idempotency-replayed', 'true')
      return response
    } catch (error) {
      return await answerError(c, error, format)
    }
  })
}

const formatOf = (c: HttpContext, op: Operation): Format =>
  formatFor(c.req.header('accept'), op.http.answers ?? 'json')
