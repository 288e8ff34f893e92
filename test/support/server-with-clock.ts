/**
 * The real server as a process of its own, for tests that restart it: its clock is moved by messages of whoever started
 * it, and the documents of clients come from the document host, whatever their address.
 */
import { guardedFetch } from '../../src/adapters/outbound/guarded-fetch.ts'
import type { GuardedFetch } from '../../src/cores/dependencies.ts'

export type ServerSettings = {
  readonly env: Readonly<Record<string, string>>
  readonly documents: { readonly port: number; readonly certificate: string }
  /** How far its clock is ahead when it starts. */
  readonly aheadSeconds: number
}
/** Sent to it: how far its clock is ahead from now on. */
export type ClockMessage = { readonly aheadSeconds: number }

const { env, documents, aheadSeconds } = JSON.parse(process.argv[2]!) as ServerSettings

// Everything in the process reads this clock, libraries included: as if the time had passed.
let aheadMs = aheadSeconds * 1000
const RealDate = Date
const now = () => RealDate.now() + aheadMs
globalThis.Date = new Proxy(RealDate, {
  construct: (target, given: unknown[], newTarget) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget) as Date,
  get: (target, name) => (name === 'now' ? now : (Reflect.get(target, name) as unknown)),
})
process.on('message', (message: ClockMessage) => {
  aheadMs = message.aheadSeconds * 1000
  process.send?.('moved')
})
const die = () => process.exit(1)
process.on('disconnect', die)

const fromDocumentHost = guardedFetch({
  resolve: async () => ['127.0.0.1'],
  allowAddress: (address) => address === '127.0.0.1',
  ca: documents.certificate,
})
const fetchDocument: GuardedFetch = (address, options) => {
  const url = new URL(address)
  url.port = String(documents.port)
  return fromDocumentHost(url.href, options)
}

// Only now, because a module may read the clock when it is loaded.
const { readConfig } = await import('../../src/boot/config.ts')
const { createLogger } = await import('../../src/observe/log.ts')
const { start } = await import('../../src/boot/start.ts')
const config = readConfig(env)
const log = createLogger({
  level: config.LOG_LEVEL,
  pretty: false,
  write: (line) => process.stdout.write(line),
  clock: () => new Date(),
})
await start(config, log, { overrides: { guardedFetch: fetchDocument } })
process.off('disconnect', die)
process.disconnect()
