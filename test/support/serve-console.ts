/** The console over a gateway in memory, at an address that a browser can open. */
import { serve, type ServerType } from '@hono/node-server'
import type { AddressInfo } from 'node:net'
import { Hono } from 'hono'
import { createConsole } from '../../src/console/app.ts'
import { createFakeGateway, seed } from './fake-gateway.ts'

export async function serveConsole() {
  const clock = () => new Date()
  const gateway = seed(createFakeGateway({ clock }))
  // The port is known only once the server listens, and the console wants to know its own address.
  let app = new Hono()
  const server = await new Promise<ServerType>((resolve) => {
    const listening = serve({ fetch: (request) => app.fetch(request), port: 0, hostname: '127.0.0.1' }, () =>
      resolve(listening),
    )
  })
  const base = `http://localhost:${(server.address() as AddressInfo).port}`
  app = new Hono()
  app.get('/auth/sign-in', (c) => {
    const back = new URL(c.req.query('return_to') ?? '')
    back.searchParams.set('code', gateway.signIn())
    back.searchParams.set('state', c.req.query('state') ?? '')
    return c.redirect(back.href)
  })
  app.route(
    '/',
    createConsole({
      gateway: gateway.service,
      appUrl: new URL(base),
      mcpUrl: new URL(base),
      signInUrl: new URL('/auth/sign-in', base),
      clock,
      version: '0.0.0',
    }),
  )
  return { base, gateway, stop: () => new Promise((resolve) => server.close(resolve)) }
}
