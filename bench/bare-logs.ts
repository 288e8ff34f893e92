/** What storing log records costs at least: one Hono route that inserts the rows of a request in one statement. */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import postgres from 'postgres'

const [port, url] = process.argv.slice(2)
const sql = postgres(url!, { max: 10 })

type Body = {
  resourceLogs: {
    scopeLogs: {
      logRecords: { timeUnixNano: string; severityNumber: number; body: { stringValue: string } }[]
    }[]
  }[]
}

let number = 0
const INSERT = `
  insert into log_lines (org_id, app_id, number, at, level, group_key, text, service, trace_id)
  select $1, $2, l.number, l.at, l.level, 0, l.text, $3, null
  from unnest($4::bigint[], $5::timestamptz[], $6::smallint[], $7::text[]) as l (number, at, level, text)`

const app = new Hono()
  .get('/ready', (c) => c.text('yes'))
  .post('/v1/logs', async (c) => {
    const body = await c.req.json<Body>()
    const records = body.resourceLogs.flatMap(({ scopeLogs }) =>
      scopeLogs.flatMap(({ logRecords }) => logRecords),
    )
    await sql.unsafe(
      INSERT,
      [
        'org_0000000000000000000000000',
        'app_0000000000000000000000000',
        'checkout',
        records.map(() => ++number),
        records.map(({ timeUnixNano }) => new Date(Number(timeUnixNano) / 1e6).toISOString()),
        records.map(({ severityNumber }) => Math.floor((severityNumber - 1) / 4)),
        records.map((record) => record.body.stringValue),
      ],
      { prepare: true },
    )
    return c.json({})
  })
serve({ fetch: app.fetch, port: Number(port), hostname: '127.0.0.1', overrideGlobalObjects: false })
