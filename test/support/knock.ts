/**
 * Knocks at any operation's door: well addressed, but with an input nobody takes. Who is let in hears about the
 * input (400), who is not hears about that (401, 403, 404), and nothing is ever done.
 */
import * as z from 'zod'
import type { Service } from '../../src/client/service.ts'
import { ERRORS, type ErrorBody, type ErrorCode } from '../../src/contracts/errors.ts'
import { makeId, type IdPrefix } from '../../src/contracts/ids.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import { ORIGIN } from './system.ts'

export type Knock = { token?: string | undefined; orgId: string }

export async function knock(service: Service, op: Operation, { token, orgId }: Knock): Promise<ErrorCode> {
  const url = new URL(pathFor(op, orgId), ORIGIN)
  const headers = new Headers({ accept: 'application/json' })
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
  const init: RequestInit = { method: op.http.method.toUpperCase(), headers }
  if (op.http.method === 'get' || op.http.method === 'delete') {
    url.searchParams.set('nobody_takes_this', '1')
  } else {
    headers.set('content-type', 'application/json')
    init.body = JSON.stringify({ nobody_takes_this: 1 })
  }
  const response = await service(new Request(url, init))
  const { error } = (await response.json()) as ErrorBody
  if (response.status !== ERRORS[error.code].status)
    throw new Error(`${error.code} came with ${response.status}`)
  return error.code
}

/** Ids of the right shape that name nothing; the organization is the one meant. */
export const pathFor = (op: Operation, orgId: string): string =>
  op.http.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) =>
    name === 'org_id'
      ? orgId
      : (SAMPLES[name] ?? sampleOf(z.toJSONSchema(op.input.shape[name]! as z.ZodType))),
  )

/** Of what does not begin with a prefix of its own. */
const SAMPLES: Readonly<Record<string, string>> = {
  source_id: 'db_nothing',
  name: 'nothing',
  alias: 'nothing',
}

function sampleOf(schema: z.core.JSONSchema.JSONSchema): string {
  const [first] = schema.anyOf ?? [schema]
  if (typeof first?.const === 'string') return first.const
  const prefix = /^\^(\w+)_/.exec(first?.pattern ?? '')?.[1]
  if (prefix === undefined)
    throw new Error(`no sample for ${JSON.stringify(schema)}: teach this function one`)
  return makeId(prefix as IdPrefix, 0)
}
