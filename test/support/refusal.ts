/** What every refusal is: our envelope with a known code and a request id, and no words from inside. */
import { expect } from 'vitest'
import { ERRORS, type ErrorBody, type ErrorCode } from '../../src/contracts/errors.ts'

/** Internal details: stacks, paths, SQL, the words of Postgres and of libraries. */
const INTERNAL_ORIGIN =
  /\bat .+:\d+|node_modules|\.ts\b|select .+ from|insert into|syntax error|input syntax|relation "|constraint|drizzle|pglite|\bJW[ST]\b/i

/** The code of a refusal that is one of ours. Of 500 and above only those that are `awaited`. */
export async function refusal(response: Response, awaited: readonly ErrorCode[] = []): Promise<ErrorCode> {
  const text = await response.text()
  expect(text).not.toMatch(INTERNAL_ORIGIN)
  const { error } = JSON.parse(text) as ErrorBody
  expect(Object.keys(ERRORS)).toContain(error.code)
  expect(response.status).toBe(ERRORS[error.code].status)
  if (!awaited.includes(error.code)) expect(response.status, text).toBeLessThan(500)
  const id = response.headers.get('x-request-id')
  expect(id).toMatch(/^req_/)
  // What is hidden answers like what is unknown, to the last byte of the body.
  expect(error.request_id).toBe(error.code === 'NOT_FOUND' ? undefined : id)
  return error.code
}
