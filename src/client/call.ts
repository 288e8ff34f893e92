/** The one typed way to call an operation, in this process or across the network. */
import type * as z from 'zod'
import { ERRORS, ServiceError, type ErrorBody } from '../contracts/errors.ts'
import type { Door, Operation } from '../contracts/operation.ts'
import { ADDRESS_HEADER, INSIDE, type Service } from './service.ts'

export type CallAs = {
  token?: string | undefined
  /** The organization a person means, when it is not the one last chosen. */
  organization?: string | undefined
  door?: Exclude<Door, 'mcp' | 'api'> | undefined
  address?: string | undefined
  requestId?: string | undefined
  /** W3C trace context of the request this call serves. */
  traceparent?: string | undefined
  userAgent?: string | undefined
}

export type Call = <I extends z.ZodObject, O extends z.ZodObject>(
  operation: Operation<I, O>,
  input: z.input<I>,
) => Promise<z.output<O>>

export const caller =
  (service: Service, as: CallAs = {}): Call =>
  async (operation, input) => {
    const response = await service(requestFor(operation, input, as))
    if (response.status === 204) return operation.output.parse({})
    const body: unknown = await response.json().catch(() => undefined)
    if (response.ok) return operation.output.parse(body)
    throw errorFrom(response, body)
  }

function requestFor(operation: Operation, input: Record<string, unknown>, as: CallAs): Request {
  const rest = { ...input }
  const path = operation.http.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = String(rest[name])
    delete rest[name]
    return encodeURIComponent(value)
  })
  const url = new URL(path, INSIDE)
  const headers = new Headers({ accept: 'application/json' })
  const set = (name: string, value: string | undefined) => value !== undefined && headers.set(name, value)
  set('authorization', as.token && `Bearer ${as.token}`)
  set('x-svc-org', as.organization)
  set('x-svc-client', as.door)
  set(ADDRESS_HEADER, as.address)
  set('x-request-id', as.requestId)
  set('traceparent', as.traceparent)
  set('user-agent', as.userAgent)
  if (operation.http.method === 'get' || operation.http.method === 'delete') {
    for (const [key, value] of Object.entries(rest)) {
      if (value !== undefined)
        url.searchParams.set(key, typeof value === 'string' ? value : JSON.stringify(value))
    }
    return new Request(url, { method: operation.http.method.toUpperCase(), headers })
  }
  headers.set('content-type', 'application/json')
  return new Request(url, {
    method: operation.http.method.toUpperCase(),
    headers,
    body: JSON.stringify(rest),
  })
}

function errorFrom(response: Response, body: unknown): ServiceError {
  const said = (body as Partial<ErrorBody> | undefined)?.error
  if (!said || !(said.code in ERRORS)) {
    return new ServiceError('UNEXPECTED', undefined, {
      cause: `a service answered ${response.status} without one of our errors`,
    })
  }
  const wait = Number(response.headers.get('retry-after'))
  return new ServiceError(said.code, said.message, {
    hint: said.hint,
    problems: said.problems,
    retryAfterSeconds: Number.isFinite(wait) && wait > 0 ? wait : undefined,
  })
}
