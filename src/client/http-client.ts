/** The one typed way to call an operation, in this process or across the network. */
import type * as z from 'zod'
import { ServiceError } from '../contracts/errors.ts'
import { EVENT_STREAM, mediaType, typesOf } from '../contracts/media-types.ts'
import type { Operation } from '../contracts/operation.ts'
import type { CallOptions } from './call-options.ts'
import { errorIn, requestParts } from './request-parts.ts'
import { ADDRESS_HEADER, INTERNAL_ORIGIN, type Service } from './service.ts'

export type { CallOptions } from './call-options.ts'

export type Call = <I extends z.ZodObject, O extends z.ZodObject>(
  operation: Operation<I, O>,
  input: z.input<I>,
) => Promise<z.output<O>>

export const httpClient =
  (service: Service, options: CallOptions = {}): Call =>
  async (operation, input) => {
    const answer = service.callInProcess?.(operation, input, options)
    if (answer !== undefined) return (await answer) as Awaited<ReturnType<typeof operation.output.parse>>
    const response = await service(requestFor(operation, input, options))
    if (response.status === 204) return operation.output.parse({})
    if (response.ok && operation.http.gives)
      return operation.output.parse(await readGiven(operation, response))
    const body: unknown = await response.json().catch(() => undefined)
    if (response.ok) return operation.output.parse(body)
    throw errorFrom(response, body)
  }

/** The answer of an operation that goes on, as it arrives. It ends with the signal of the options. */
export const openStream =
  (service: Service, options: CallOptions = {}) =>
  async (operation: Operation, input: Record<string, unknown>): Promise<ReadableStream<Uint8Array>> => {
    // Within the process it is passed on as it is: a request and a response beside it would stay as long as it does.
    const answer = await service.callInProcess?.(operation, input, options)
    if (answer !== undefined) return (answer as { body: ReadableStream<Uint8Array> }).body
    const response = await service(requestFor(operation, input, options))
    if (response.ok && response.body) return response.body
    throw errorFrom(response, await response.json().catch(() => undefined))
  }

async function readGiven({ output }: Operation, response: Response): Promise<Record<string, unknown>> {
  const body = new Uint8Array(await response.arrayBuffer())
  if (!('content_type' in output.shape)) return { body }
  return { body, content_type: mediaType(response.headers.get('content-type')) }
}

function requestFor(operation: Operation, input: Record<string, unknown>, options: CallOptions): Request {
  const { takes, ...http } = operation.http
  const parts = requestParts({ ...http, takes: takes && typesOf(takes.type)[0] }, input)
  const headers = new Headers({
    accept: http.gives === EVENT_STREAM ? EVENT_STREAM : 'application/json',
    ...parts.headers,
  })
  const set = (name: string, value: string | undefined) => value !== undefined && headers.set(name, value)
  set('authorization', options.token && `Bearer ${options.token}`)
  set('x-svc-org', options.organization)
  set('x-svc-client', options.entryPoint)
  set(ADDRESS_HEADER, options.address)
  set('x-request-id', options.requestId)
  set('traceparent', options.traceparent)
  set('user-agent', options.userAgent)
  const { method, path, body = null } = parts
  return new Request(new URL(path, INTERNAL_ORIGIN), {
    method,
    headers,
    body,
    signal: options.signal ?? null,
  })
}

/** An error that a service answered with, as it was thrown there. */
export function errorFrom(response: Response, body: unknown): ServiceError {
  const { code, message, ...extras } = errorIn(body, response.headers.get('retry-after')) ?? {}
  if (code !== undefined) return new ServiceError(code, message, extras)
  return new ServiceError('UNEXPECTED', undefined, {
    cause: `a service answered ${response.status} without one of our errors`,
  })
}
