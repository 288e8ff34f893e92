/** Real OpenTelemetry exporters send their records here: as JSON and as protobuf, plain and as gzip, and again when told to. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAppToken, revokeAppToken } from '../../src/contracts/app-tokens.ts'
import { createApp } from '../../src/contracts/apps.ts'
import { listLogs, summarizeLogs } from '../../src/contracts/logs.ts'
import { startListeningSystem, type ListeningSystem } from '../support/assistant.ts'
import { makeOrganization, unique, type Org } from '../support/make.ts'

const FOLDER = fileURLToPath(new URL('../clients/package.json', import.meta.url))
const isInstalled = existsSync(
  fileURLToPath(new URL('../clients/node_modules/@opentelemetry', import.meta.url)),
)
if (!isInstalled) {
  console.log(
    'OpenTelemetry exporters are not tried: npm ci --prefix test/clients --ignore-scripts installs them.',
  )
}

type Exported = { readonly code: number; readonly error?: Error }
type Exporter = {
  export(records: unknown, done: (result: Exported) => void): void
  shutdown(): Promise<void>
}
type MakeExporter = new (options: object) => Exporter
type Provider = {
  getLogger(name: string): { emit(record: object): void }
  forceFlush(): Promise<void>
  shutdown(): Promise<void>
}
type Sdk = {
  LoggerProvider: new (options: object) => Provider
  BatchLogRecordProcessor: new (...options: unknown[]) => object
}

const load = createRequire(FOLDER)
const KINDS = ['http', 'proto'] as const
const exporterOf = (kind: (typeof KINDS)[number]) =>
  (load(`@opentelemetry/exporter-logs-otlp-${kind}`) as { OTLPLogExporter: MakeExporter }).OTLPLogExporter

let system: ListeningSystem
let org: Org

beforeAll(async () => {
  system = await startListeningSystem({
    SVC_SERVICES: 'api-gateway,auth-service,deploy-api',
    LOG_LINES_PER_MINUTE: '6000',
  })
  org = await makeOrganization(system)
})
afterAll(() => system.stop())

async function makeApp() {
  const alias = unique('shop')
  await org.owner.call(createApp, { alias, name: 'Shop' })
  const asked = { alias, name: 'exporter', scope: 'apps:report' } as const
  const { token, id: token_id } = await org.owner.call(createAppToken, asked)
  return { alias, token, token_id }
}

/** What the exporter said of each export, and the logger that leads to it. */
function logger(kind: (typeof KINDS)[number], token: string, compression: 'gzip' | 'none') {
  const exporter = new (exporterOf(kind))({
    url: `${system.origin}/v1/logs`,
    headers: { authorization: `Bearer ${token}` },
    compression,
  })
  const results: Exported[] = []
  const recording = {
    export: (records: unknown, done: (result: Exported) => void) =>
      exporter.export(records, (result) => {
        results.push(result)
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => {},
  }
  const { LoggerProvider, BatchLogRecordProcessor } = load('@opentelemetry/sdk-logs') as Sdk
  const { resourceFromAttributes } = load('@opentelemetry/resources') as {
    resourceFromAttributes: (attributes: object) => object
  }
  // Newer versions take one object, older ones the exporter first.
  const processor = new BatchLogRecordProcessor(
    Object.assign(recording, { exporter: recording, maxExportBatchSize: 8_192, maxQueueSize: 20_000 }),
    { maxExportBatchSize: 8_192, maxQueueSize: 20_000 },
  )
  const provider = new LoggerProvider({
    resource: resourceFromAttributes({ 'service.name': 'checkout' }),
    processors: [processor],
  })
  return { emit: (record: object) => provider.getLogger('test').emit(record), provider, results }
}

describe.skipIf(!isInstalled)('an exporter', () => {
  test.each(KINDS.flatMap((kind) => (['none', 'gzip'] as const).map((gzip) => [kind, gzip] as const)))(
    '%s, compression %s: every record arrives as it was logged, without secrets',
    async (kind, compression) => {
      const { alias, token } = await makeApp()
      const { emit, provider, results } = logger(kind, token, compression)
      const at = system.clock.now()
      emit({ timestamp: at, severityNumber: 9, severityText: 'INFO', body: 'größe 测试 🎉' })
      emit({
        timestamp: at,
        severityNumber: 13,
        body: { order: 17, paid: false, items: ['a', -1.5, { deep: 'b' }] },
      })
      emit({
        timestamp: at,
        severityNumber: 17,
        body: 'payment failed, password=hunter2',
        attributes: {
          'exception.type': 'CardError',
          'exception.message': 'declined',
          'exception.stacktrace': 'CardError: declined\n    at pay (pay.ts:1:2)',
        },
      })
      emit({ timestamp: at, severityNumber: 21, body: new Uint8Array([1, 2, 3]) })
      await provider.forceFlush()
      expect(results.map(({ code }) => code)).toEqual([0])
      const { lines } = await org.owner.call(listLogs, { alias })
      expect(
        lines.map(({ level, text, service, at: time }) => [level, text, service, time]).toReversed(),
      ).toEqual([
        ['info', 'größe 测试 🎉', 'checkout', at.toISOString()],
        ['warn', '{"order":17,"paid":false,"items":["a",-1.5,{"deep":"b"}]}', 'checkout', at.toISOString()],
        [
          'error',
          'payment failed, password=[hidden]\nCardError\ndeclined\nCardError: declined\n    at pay (pay.ts:1:2)',
          'checkout',
          at.toISOString(),
        ],
        ['fatal', 'AQID', 'checkout', at.toISOString()],
      ])
      await provider.shutdown()
    },
  )

  test.each(KINDS)('%s: told to come again later it does, and nothing is lost', async (kind) => {
    const { alias, token } = await makeApp()
    const { emit, provider, results } = logger(kind, token, 'gzip')
    const send = async (lines: number) => {
      for (let n = 0; n < lines; n++) emit({ severityNumber: 9, body: `line ${n}` })
      await provider.forceFlush()
    }
    // As large as a collector's batches are, and a little more than a minute may hold.
    await send(6_050)
    const later = send(1)
    await expect
      .poll(async () => (await org.owner.call(summarizeLogs, { alias })).refused_today, { timeout: 10_000 })
      .toBe(1)
    system.clock.advance(2)
    await later
    expect(results.map(({ code }) => code)).toEqual([0, 0])
    const { after } = await org.owner.call(listLogs, { alias, limit: 1 })
    expect(Number.parseInt(after.slice('lgl_'.length), 36)).toBe(6_051)
    await provider.shutdown()
  })

  test('a token that was revoked or is none is refused, and the exporter says so', async () => {
    const { alias, token, token_id } = await makeApp()
    await org.owner.call(revokeAppToken, { alias, token_id })
    for (const wrong of [token, 'svca_nothing']) {
      const { emit, provider, results } = logger('proto', wrong, 'none')
      emit({ severityNumber: 9, body: 'x' })
      await provider.forceFlush().catch(() => {})
      expect(results.map(({ code }) => code)).toEqual([1])
      await provider.shutdown().catch(() => {})
    }
    expect((await org.owner.call(listLogs, { alias })).lines).toEqual([])
  })
})
