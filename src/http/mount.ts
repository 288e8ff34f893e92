/** Turns an operation into a route: authenticate, read the input, run the verb, answer. */
import { declareDurability } from '../../db/current-call.ts'
import type { Operation, Principal } from '../contracts/operation.ts'
import { OPERATIONS, type OperationName } from '../contracts/operations.ts'
import type { Storage } from '../cores/dependencies.ts'
import { typesOf } from '../contracts/media-types.ts'
import { answerGoesOn, answerIs } from '../trust/open-answers.ts'
import { answer, answerBytes, answerError, answerStream, formatFor, type Format } from './answer.ts'
import {
  authenticate,
  authenticatePresented,
  bearerIn,
  entryPointOf,
  goesOn,
  requestedOrganization,
  type Authentication,
} from './authenticate.ts'
import type { HttpContext } from './context.ts'
import { ANSWER_LIMITS, heldBodies, type HeldBody } from './held-bodies.ts'
import { received, type InProcessRequest } from './in-process.ts'
import { withIdempotencyKey } from '../cores/idempotency.ts'
import { asksToWait } from './observe-request.ts'
import { reading, type OldReads, type Verb } from './old-reads.ts'
import { inputReader, valueReader } from './read-input.ts'
import type { ServiceApp } from './service-app.ts'

/** Of all services of this process. */
const holdBody = heldBodies()
const holdAnswer = heldBodies(ANSWER_LIMITS)

type MountOptions = Authentication & {
  /** Records a call that was refused before its verb was reached. */
  readonly recordRefusal?: (principal: Principal, error: unknown) => Promise<void>
  readonly oldReads?: OldReads | undefined
}

export function mount<Deps extends Partial<Storage>>(
  app: ServiceApp,
  verbs: { readonly [Name in OperationName]?: Verb<Deps> },
  deps: Deps,
  options: MountOptions,
): void {
  for (const op of OPERATIONS) {
    const verb = verbs[op.name]
    if (verb) mountOperation(app, op, verb, deps, options)
  }
}

export const routePath = (op: Operation): string => op.http.path.replaceAll(/\{(\w+)\}/g, ':$1')

export function mountOperation<Deps extends Partial<Storage>>(
  app: ServiceApp,
  op: Operation,
  verb: Verb<Deps>,
  deps: Deps,
  options: MountOptions,
): void {
  const read = inputReader(op)
  const readValues = valueReader(op)
  const handle = reading(op, verb, deps, options.oldReads)
  const success = op.http.success ?? 200
  const recordRefusal = op.recordsActivity ? options.recordRefusal : undefined
  app.on(op.http.method.toUpperCase(), routePath(op), async (c) => {
    c.set('route', op.name)
    declareDurability(op.durability)
    const format = formatOf(c, op)
    let held: HeldBody | undefined
    try {
      const hold = (principal: Principal) => (held = op.http.takes && holdBody(principal.orgId))
      const { principal, input } = await readRequest(c, hold).catch((error: unknown) =>
        refuse(c.get('principal'), error),
      )
      c.set('isWaiting', asksToWait(input))
      if (asksToWait(input)) answerIs('long_polls')
      const key = c.req.header('idempotency-key')
      if (key === undefined || !op.takesIdempotencyKey) {
        const answered = op.output.parse(await handle(principal, input))
        if (goesOn(op)) return answerStream(c, answered['body'] as ReadableStream<Uint8Array>)
        return op.http.gives
          ? answerBytes(c, {
              ...givenBytes(op, answered),
              status: success,
              filename: filenameOf(op, c.req.param()),
              held: () => holdAnswer(principal.orgId),
            })
          : await answer(c, answered, success, format)
      }
      const stored = await withIdempotencyKey(
        deps as Storage,
        { principal, operation: op, key, input, status: success },
        async (db) =>
          op.output.parse(await reading(op, verb, { ...deps, db }, options.oldReads)(principal, input)),
      )
      const response = await answer(c, stored.body, stored.status, format)
      if (stored.replayed) response.headers.set('idempotency-replayed', 'true')
      return response
    } catch (error) {
      return await answerError(c, error, format)
    } finally {
      held?.release()
    }
  })

  app.inProcess.add(op, async (request) => {
    declareDurability(op.durability)
    const { principal, input } = await readCall(request).catch((error: unknown) =>
      refuse(request.variables.principal, error),
    )
    request.variables.isWaiting = asksToWait(input)
    if (asksToWait(input)) answerIs('long_polls')
    const answered = op.output.parse(await handle(principal, input))
    if (goesOn(op)) {
      answerGoesOn()
      return answered
    }
    if (op.http.gives) return receivedBytes(op, answered)
    return success === 204 ? op.output.parse({}) : received(answered)
  })

  async function readRequest(c: HttpContext, hold: (principal: Principal) => HeldBody | undefined) {
    const principal = await authenticate(c, op, options)
    return { principal, input: (await read(c, hold(principal)?.add)) as never }
  }

  async function readCall({ input, options: given, variables }: InProcessRequest) {
    const presented = {
      token: bearerIn(given.token && `Bearer ${given.token}`),
      organization: requestedOrganization(organizationInPath(op, input), given.organization),
      entryPoint: entryPointOf(given.entryPoint),
      address: variables.address,
      requestId: variables.requestId,
      validation: given.validation,
      signal: given.signal,
    }
    const principal = await authenticatePresented(presented, op, options, (found) => {
      variables.principal = found
    })
    return { principal, input: readValues(input) as never }
  }

  async function refuse(principal: Principal | undefined, error: unknown): Promise<never> {
    if (principal) await recordRefusal?.(principal, error)
    throw error
  }
}

/** What an operation gives that does not answer with JSON. */
function givenBytes(
  { http }: Operation,
  { body, content_type: type, age_seconds: age }: Record<string, unknown>,
) {
  return {
    body: body as Uint8Array,
    type: typeof type === 'string' ? type : typesOf(http.gives!)[0],
    ageSeconds: typeof age === 'number' ? age : undefined,
  }
}

/** The same to whoever is in this process, as a copy. */
const receivedBytes = (op: Operation, answered: Record<string, unknown>) => ({
  ...answered,
  body: new Uint8Array(givenBytes(op, answered).body),
})

/** Names in the path were checked by then: letters, digits, and little else. */
const filenameOf = ({ http }: Operation, params: Readonly<Record<string, string>>): string | undefined =>
  http.filename?.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? '').replaceAll(/[^\w.-]/g, '_')

const organizationInPath = ({ http }: Operation, input: Record<string, unknown>): string | undefined =>
  http.path.includes('{org_id}') ? String(input['org_id']) : undefined

const formatOf = (c: HttpContext, op: Operation): Format =>
  formatFor(c.req.header('accept'), op.http.answers ?? 'json')
