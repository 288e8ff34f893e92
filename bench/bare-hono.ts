/** What a request costs at least: one Hono route on the same HTTP server. */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

const app = new Hono()
  .get('/api/v1/me', (c) => c.json({ kind: 'api_token' }))
  .post('/platform', async (c) => c.json({ jsonrpc: '2.0', echo: await c.req.json<unknown>() }))
serve({
  fetch: app.fetch,
  port: Number(process.argv[2]),
  hostname: '127.0.0.1',
  overrideGlobalObjects: false,
})
