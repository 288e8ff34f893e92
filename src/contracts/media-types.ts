/** Types of bodies that are not JSON. Plain: the client `svc` loads this file and no zod. */
import type { MediaTypes } from './operation.ts'

export const typesOf = (types: MediaTypes): readonly [string, ...string[]] =>
  typeof types === 'string' ? [types] : types

/** Without parameters, in lower case. */
export const mediaType = (header: string | null | undefined): string =>
  (header ?? '').split(';', 1)[0]!.trim().toLowerCase()

/** Server-sent events, which go on until one side ends them. */
export const EVENT_STREAM = 'text/event-stream'
