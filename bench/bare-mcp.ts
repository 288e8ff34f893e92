/**
 * An MCP server as the SDK's own guide writes one, in one file: it verifies the same JWT, runs the statements behind our
 * `whoami` on the same tables, prepared, and lists the same tools. And an echo, which does nothing at all.
 */
import { serve } from '@hono/node-server'
import { createMcpHandler, McpServer, type AuthInfo } from '@modelcontextprotocol/server'
import { Hono } from 'hono'
import * as z from 'zod'
import { TOOLS } from '../mcp/tools.ts'
import { accessTokens } from '../src/trust/access-token.ts'
import { openBareControl } from './bare-question.ts'

export type Settings = {
  readonly port: number
  readonly database: string
  readonly jwtSecret: string
  readonly issuer: string
}

/** As `countGrantCall` does it: the call is counted by the statement that finds its grant. */
const COUNT_CALL = `with counted as (insert into throttles (key, full_until)
select 'mcp-calls:' || found.id, $2::timestamptz + make_interval(secs => $4::float8)
from (select id from platform_access_grants where id = $1) as found (id)
on conflict (key) do update
set full_until = greatest(throttles.full_until, $2::timestamptz) + make_interval(secs => $4::float8)
where throttles.full_until <= $2::timestamptz + make_interval(secs => $5::float8) returning key)
select g.*, m.role, case when not exists (select from counted) then 1 end as retry_after, u.email, u.name, o.name as org_name, o.slug from platform_access_grants g
join users u on u.id = g.user_id join organizations o on o.id = g.org_id
join memberships m on m.org_id = g.org_id and m.user_id = g.user_id
left join platform_oauth_clients c on c.client_id = g.client_id
where g.id = $1 and g.revoked_at is null and g.expires_at > $2::timestamptz and g.key_epoch = $3 and o.agents_enabled
and ((c.client_id is null and g.client_kind = 'metadata_document')
or (c.is_active and (c.expires_at is null or c.expires_at > $2::timestamptz)))
and not exists (select 1 from organization_client_blocks b where b.org_id = g.org_id and b.client_id = g.client_id)`

/** As `readQuota` does it. */
const QUOTA = 'select org_id, minute, in_minute, day, in_day from question_counts where org_id = $1'

/** As `keepReport` does it. */
const WRITE_DOWN = `insert into activity (org_id, id, at, type, name, user_id, user_name, entry_point, client_id, outcome,
duration_ms, question_bytes, answer_bytes, question_digest, answer_digest, request_id)
values ($1, $2, $3::timestamptz, 'function', 'whoami', $4, $5, 'mcp', $6, 'answered', 1, 2, $7::int, $8, $8, $9)`

const { port, database, jwtSecret, issuer } = JSON.parse(process.argv[2]!) as Settings
const resource = `${issuer}/platform`
const tokens = accessTokens(jwtSecret, issuer)
const { sql } = await openBareControl({ url: database })
const run = (text: string, values: string[]) => sql.unsafe(text, values, { prepare: true })
const [{ key_epoch: keyEpoch } = { key_epoch: '' }] = await run(
  'select key_epoch from platform_access_grants',
  [],
)

type Found = { id: string; org_id: string; user_id: string; client_id: string; name: string; role: string }
let written = 0
/** Of a million calls a minute. */
const [STEP_SECONDS, CAPACITY_SECONDS] = ['0.00006', '60']

async function whoami(grant: Found): Promise<string> {
  const [quota] = await run(QUOTA, [grant.org_id])
  const answer = JSON.stringify({ user: grant.name, role: grant.role, quota: quota ?? null })
  written += 1
  await run(WRITE_DOWN, [
    grant.org_id,
    `act_${process.pid}_${written}`,
    new Date().toISOString(),
    grant.user_id,
    grant.name,
    grant.client_id,
    String(answer.length),
    '0123456789abcdef0123456789abcdef',
    'req_01jv0000000000000000000000',
  ])
  return answer
}

async function countCall(grantId: string): Promise<Found | undefined> {
  const now = new Date().toISOString()
  const [found] = await run(COUNT_CALL, [grantId, now, String(keyEpoch), STEP_SECONDS, CAPACITY_SECONDS])
  return found as Found | undefined
}

const platform = createMcpHandler(({ authInfo }) => {
  const server = new McpServer({ name: 'bare', version: '0' })
  for (const { name, resource: at, title, description, input, listed } of TOOLS) {
    if (at !== 'platform') continue
    const { annotations } = listed
    server.registerTool(
      name,
      { title, description, inputSchema: input, ...(annotations && { annotations }) },
      async () => ({
        content: [{ type: 'text', text: await whoami(authInfo!.extra!['grant'] as Found) }],
      }),
    )
  }
  return server
})

const echo = createMcpHandler(() => {
  const server = new McpServer({ name: 'echo', version: '0' })
  const inputSchema = z.object({ text: z.string() })
  server.registerTool('echo', { description: 'Says it back', inputSchema }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }))
  return server
})

const app = new Hono()
  .get('/readyz', (c) => c.text('ready'))
  .post('/echo', (c) => echo.fetch(c.req.raw))
  .post('/platform', async (c) => {
    const token = c.req.header('authorization')?.replace('Bearer ', '') ?? ''
    const claims = await tokens.verify(token, resource, new Date())
    const grant = claims && (await countCall(claims.grantId))
    if (!grant) return c.text('', 401)
    const { clientId, scopes } = claims
    const authInfo: AuthInfo = { token, clientId, scopes, extra: { grant } }
    return platform.fetch(c.req.raw, { authInfo })
  })
serve({ fetch: app.fetch, port, hostname: '127.0.0.1', overrideGlobalObjects: false })
