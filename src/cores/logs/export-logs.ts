import { ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireOwnApp } from '../apps/index.ts'
import type { ReadLogs } from './log-record.ts'
import { parseOtlpJson, readOtlpJson, readOtlpProtobuf } from './read-otlp.ts'
import { storeLines, type Stored, type StoreDeps } from './store-lines.ts'

/** The token says of which app they are: OTLP has no place for it. */
export const exportLogs =
  (deps: StoreDeps): Handler<'exportLogs'> =>
  async (principal, { content_type: type, body }) => {
    const app = await requireOwnApp(deps.db, principal)
    const isJson = type === 'application/json'
    const read = isJson ? readJson : readProtobuf
    const stored = await storeLines(deps, app, body.length, () => read(body))
    return { content_type: type, body: isJson ? answerJson(stored) : answerProtobuf(stored) }
  }

async function readJson(body: Uint8Array): Promise<ReadLogs> {
  let parsed: unknown
  try {
    parsed = await parseOtlpJson(body)
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause
    throw new ServiceError('INVALID_REQUEST', 'The body is not valid JSON', { cause })
  }
  return readOtlpJson(parsed)
}

async function readProtobuf(body: Uint8Array): Promise<ReadLogs> {
  try {
    return await readOtlpProtobuf(Buffer.from(body.buffer, body.byteOffset, body.byteLength))
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause
    throw new ServiceError('INVALID_REQUEST', 'The body is not an ExportLogsServiceRequest', { cause })
  }
}

/** OTLP: what was not stored is a partial success, which exporters report and do not repeat. */
function problemIn({ rejected, dropped }: Stored): string | undefined {
  const problems = [
    ...(rejected > 0 ? [`${rejected} records could not be read`] : []),
    ...(dropped > 0 ? [`${dropped} were not stored, because the logs of this app are full`] : []),
  ]
  return problems.length === 0 ? undefined : problems.join('; ')
}

function answerJson(stored: Stored): Uint8Array<ArrayBuffer> {
  const errorMessage = problemIn(stored)
  const partialSuccess = { rejectedLogRecords: String(stored.rejected + stored.dropped), errorMessage }
  return new TextEncoder().encode(JSON.stringify(errorMessage === undefined ? {} : { partialSuccess }))
}

/** ExportLogsServiceResponse: partial_success = 1, with rejected_log_records = 1 and error_message = 2. */
function answerProtobuf(stored: Stored): Uint8Array<ArrayBuffer> {
  const message = problemIn(stored)
  if (message === undefined) return new Uint8Array()
  const text = Buffer.from(message)
  const inner = [0x08, ...varint(stored.rejected + stored.dropped), 0x12, ...varint(text.length), ...text]
  return Uint8Array.from([0x0a, ...varint(inner.length), ...inner])
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]
}
