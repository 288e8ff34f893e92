/**
 * With hosted auth an organization has two audit trails: the vendor's, of members and tokens, and this installation's own.
 * They are read as one: ids sort by time wherever they were made.
 */
import type * as z from 'zod'
import { httpClient } from '../client/http-client.ts'
import type { Service } from '../client/service.ts'
import { listAudit } from '../contracts/audit.ts'
import { COUNT_MAX } from '../contracts/limits.ts'
import { pageOf } from '../contracts/paging.ts'
import * as audit from '../cores/audit/index.ts'
import type { Storage } from '../cores/dependencies.ts'
import { answer, answerError, formatFor } from './answer.ts'
import { authenticate, bearerOf, type Authentication } from './authenticate.ts'
import type { HttpContext } from './context.ts'
import { inputReader } from './read-input.ts'

export function listAuditHosted(deps: Storage & { readonly auth: Service }, authentication: Authentication) {
  const read = inputReader(listAudit)
  const listOwn = audit.listAudit(deps)
  return async (c: HttpContext): Promise<Response> => {
    c.set('route', listAudit.name)
    const format = formatFor(c.req.header('accept'), 'json')
    try {
      const principal = await authenticate(c, listAudit, authentication)
      const input = await read(c)
      const { requestId, address } = principal
      const call = httpClient(deps.auth, { token: bearerOf(c), requestId, address })
      const [own, vendors] = await Promise.all([
        listOwn(principal, input),
        call(listAudit, { ...input, count: String(input.count) }),
      ])
      const pages = [listAudit.output.parse(own), vendors]
      return await answer(c, mergePages(pages, input.limit), 200, format)
    } catch (error) {
      return await answerError(c, error, format)
    }
  }
}

type AuditPage = z.output<typeof listAudit.output>

function mergePages(pages: readonly AuditPage[], limit: number): AuditPage {
  const rows = pages.flatMap((page) => page.audit).toSorted((a, b) => (a.id < b.id ? 1 : -1))
  const merged = pageOf(rows, limit, (row) => [row.id])
  // As many as were asked for, all from one trail, which goes on.
  const goesOn = merged.next_cursor ?? pages.find((page) => page.next_cursor !== undefined)?.next_cursor
  return { audit: [...merged.rows], next_cursor: goesOn, ...sumOf(pages) }
}

/** Only if both trails were counted. */
function sumOf(pages: readonly AuditPage[]): { total?: number } {
  const totals = pages.flatMap(({ total }) => total ?? [])
  const sum = totals.reduce((all, one) => all + one, 0)
  return totals.length === pages.length ? { total: Math.min(COUNT_MAX, sum) } : {}
}
