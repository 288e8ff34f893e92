/**
 * Calls any operation with an invalid input, to test access alone: a principal that may call it gets 400, any other gets
 * 401, 403 or 404, and nothing is ever changed.
 */
import * as z from 'zod'
import type { Service } from '../../src/client/service.ts'
import { ERRORS, type ErrorBody, type ErrorCode } from '../../src/contracts/errors.ts'
import { makeId, type IdPrefix } from '../../src/contracts/ids.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import { ORIGIN } from './system.ts'

type Credentials = { token?: string | undefined; orgId: string }

export async function requestWithInvalidInput(
  service: Service,
  op: Operation,
  { token, orgId }: Credentials,
): Promise<ErrorCode> {
  const url = new URL(pathFor(op, orgId), ORIGIN)
  const headers = new Headers({ accept: 'application/json' })
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
  const init: RequestInit = { method: op.http.method.toUpperCase(), headers }
  if (op.http.method === 'get' || op.http.method === 'delete') {
    url.searchParams.set('not_an_input', '1')
  } else {
    // No operation that takes bytes takes those of this type.
    headers.set('content-type', op.http.takes ? 'application/x-not-an-input' : 'application/json')
    init.body = JSON.stringify({ not_an_input: 1 })
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

/** For parameters that are not prefixed ids. */
const SAMPLES: Readonly<Record<string, string>> = {
  source_id: 'db_nothing',
  name: 'nothing',
  alias: 'nothing',
  client_id: 'nothing',
  ref: 'nothing',
  number: '1',
  namespace: 'nothing',
  service_account: 'nothing',
}

function sampleOf(schema: z.core.JSONSchema.JSONSchema): string {
  const [first] = schema.anyOf ?? [schema]
  if (typeof first?.const === 'string') return first.const
  const prefix = /^\^(?:\(\?:)?([a-z]+)[|_]/.exec(first?.pattern ?? '')?.[1]
  if (prefix === undefined)
    throw new Error(`no sample for ${JSON.stringify(schema)}: teach this function one`)
  return makeId(prefix as IdPrefix, 0)
}
