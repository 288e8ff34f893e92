import fc from 'fast-check'
import { expect, inject, test } from 'vitest'
import { countSteps } from '../../../test/support/count-steps.ts'
import { turnsDuring } from '../../../test/support/turns-during.ts'
import { READ_MAX } from './log-record.ts'
import { parseOtlpJson, readOtlpJson, readOtlpProtobuf } from './read-otlp.ts'

/** A small writer of the wire format, so that the reader is not tested with itself. */
const varint = (value: bigint): Buffer => {
  const bytes: number[] = []
  do {
    const low = Number(value & 0x7fn)
    value >>= 7n
    bytes.push(value > 0n ? low | 0x80 : low)
  } while (value > 0n)
  return Buffer.from(bytes)
}
const tag = (number: number, type: number) => varint(BigInt((number << 3) | type))
const bytes = (number: number, ...parts: (Buffer | string)[]): Buffer => {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  return Buffer.concat([tag(number, 2), varint(BigInt(body.length)), body])
}
const int = (number: number, value: bigint) =>
  Buffer.concat([tag(number, 0), varint(BigInt.asUintN(64, value))])
const fixed64 = (number: number, value: bigint) => {
  const body = Buffer.alloc(8)
  body.writeBigUInt64LE(value)
  return Buffer.concat([tag(number, 1), body])
}
const text = (value: string) => bytes(1, value)
const pair = (key: string, value: Buffer) => Buffer.concat([bytes(1, key), bytes(2, value)])
const request = (...records: Buffer[]) =>
  bytes(
    1,
    bytes(1, bytes(1, pair('service.name', text('shop')))),
    bytes(2, ...records.map((record) => bytes(2, record))),
  )

const AT = 1_794_700_000_123n * 1_000_000n

test('protobuf and JSON of the same records are the same records', async () => {
  const trace = '0af7651916cd43dd8448eb211c80319c'
  const fromProtobuf = await readOtlpProtobuf(
    request(
      Buffer.concat([
        fixed64(1, AT),
        int(2, 17n),
        bytes(5, text('boom größe')),
        bytes(6, pair('exception.stacktrace', text('at f'))),
        bytes(6, pair('order.id', int(3, 17n))),
        bytes(6, pair('http.route', text('/pay'))),
        bytes(9, Buffer.from(trace, 'hex')),
      ]),
      Buffer.concat([
        fixed64(11, AT),
        bytes(3, 'WARNING'),
        bytes(
          5,
          bytes(6, bytes(1, pair('n', int(3, -7n))), bytes(1, pair('list', bytes(5, bytes(1, int(2, 1n)))))),
        ),
      ]),
    ),
  )
  const fromJson = await readOtlpJson({
    resourceLogs: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] },
        scopeLogs: [
          {
            logRecords: [
              {
                timeUnixNano: String(AT),
                severityNumber: 17,
                body: { stringValue: 'boom größe' },
                attributes: [
                  { key: 'exception.stacktrace', value: { stringValue: 'at f' } },
                  { key: 'order.id', value: { intValue: '17' } },
                  { key: 'http.route', value: { stringValue: '/pay' } },
                ],
                traceId: trace.toUpperCase(),
              },
              {
                observedTimeUnixNano: String(AT),
                severityText: 'WARNING',
                body: {
                  kvlistValue: {
                    values: [
                      { key: 'n', value: { intValue: '-7' } },
                      { key: 'list', value: { arrayValue: { values: [{ boolValue: true }] } } },
                    ],
                  },
                },
              },
            ],
          },
        ],
      },
    ],
  })
  expect(fromProtobuf).toEqual(fromJson)
  expect(fromJson).toEqual({
    rejected: 0,
    records: [
      {
        at: new Date(1_794_700_000_123),
        level: 'error',
        text: 'boom größe {"order.id":17,"http.route":"/pay"}\nat f',
        service: 'shop',
        traceId: trace,
      },
      {
        at: new Date(1_794_700_000_123),
        level: 'warn',
        text: '{"n":-7,"list":[true]}',
        service: 'shop',
        traceId: null,
      },
    ],
  })
})

test('a record that cannot be read is counted, and the others are kept', async () => {
  const deep = Array.from({ length: 50 }).reduce<Buffer>((inner) => bytes(5, bytes(1, inner)), text('x'))
  expect(
    await readOtlpProtobuf(request(bytes(5, text('fine')), bytes(5, deep), Buffer.alloc(0))),
  ).toMatchObject({
    records: [{ text: 'fine', level: 'info', at: null }],
    rejected: 2,
  })
  const logRecords = [{ body: { stringValue: 'fine' } }, { body: { intValue: 'many' } }, null, 'x']
  expect(await readOtlpJson({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })).toMatchObject({
    records: [{ text: 'fine' }],
    rejected: 3,
  })
})

test('the name of an event and attributes alone are a record, and none of them is lost', async () => {
  const attributes = [{ key: 'user.plan', value: { stringValue: 'pro' } }]
  const logRecords = [
    { eventName: 'checkout.started', attributes },
    { eventName: 'checkout.started', body: { stringValue: 'started' } },
    { attributes },
    { attributes: [{ key: '__proto__', value: { stringValue: 'x' } }] },
  ]
  const { records, rejected } = await readOtlpJson({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })
  expect(records.map((record) => record.text)).toEqual([
    'checkout.started {"user.plan":"pro"}',
    'started {"event.name":"checkout.started"}',
    '{"user.plan":"pro"}',
    '{"__proto__":"x"}',
  ])
  expect(rejected).toBe(0)
  const same = Buffer.concat([bytes(12, 'checkout.started'), bytes(6, pair('user.plan', text('pro')))])
  expect((await readOtlpProtobuf(request(same))).records[0]?.text).toBe(records[0]?.text)
})

/** opentelemetry-collector, otlphttp exporter: what came from several senders in one request, with all that it knows of them. */
test('a request of a collector: several resources and scopes, and fields that we do not read', async () => {
  const scope = (name: string, ...records: Buffer[]) =>
    bytes(
      2,
      bytes(1, bytes(1, name), bytes(2, '1.4.0'), bytes(3, pair('scope.kind', text('library'))), int(4, 2n)),
      ...records.map((record) => bytes(2, record)),
      bytes(3, 'https://opentelemetry.io/schemas/1.27.0'),
    )
  const resource = (name: string, ...scopes: Buffer[]) =>
    bytes(
      1,
      bytes(
        1,
        bytes(1, pair('host.name', text('h1'))),
        bytes(1, pair('service.name', text(name))),
        int(2, 1n),
      ),
      ...scopes,
      bytes(3, 'https://opentelemetry.io/schemas/1.27.0'),
    )
  const fixed32 = Buffer.concat([tag(8, 5), Buffer.from([1, 0, 0, 0])])
  const line = (value: string) =>
    Buffer.concat([
      fixed64(1, AT),
      int(2, 9n),
      bytes(5, text(value)),
      int(7, 3n),
      fixed32,
      bytes(10, '8 bytes.'),
    ])
  const { records, rejected } = await readOtlpProtobuf(
    Buffer.concat([
      resource('shop', scope('http', line('a'), line('b')), scope('db', line('c'))),
      resource('mail', scope('', line('d'))),
      resource('idle'),
    ]),
  )
  expect(records.map((record) => [record.service, record.text])).toEqual([
    ['shop', 'a'],
    ['shop', 'b'],
    ['shop', 'c'],
    ['mail', 'd'],
  ])
  expect(rejected).toBe(0)
})

const MIB = 1024 * 1024
const codeOf = async (work: () => unknown): Promise<unknown> => {
  try {
    return await work()
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

test.runIf(inject('everyCase'))(
  'bytes that were made to fill the memory are refused before they do',
  async () => {
    expect(await codeOf(() => readOtlpProtobuf(Buffer.alloc(20 * MIB, Buffer.from([0x08, 0x00]))))).toBe(
      'TOO_LARGE',
    )
    // The last of them inside a record, where what cannot be read is otherwise left out.
    const before = Buffer.alloc(1_900_000, Buffer.from([0x10, 0x00]))
    const record = Buffer.alloc(200_000, Buffer.from([0x40, 0x00]))
    expect(await codeOf(() => readOtlpProtobuf(Buffer.concat([before, request(record)])))).toBe('TOO_LARGE')
    const empty = Buffer.from(`{"resourceLogs":[${'{},'.repeat(1_000_000)}{}]}`)
    expect(await codeOf(() => parseOtlpJson(empty))).toBe('TOO_LARGE')
    const values = Array.from({ length: 20_000 }, () => ({ boolValue: true }))
    const logRecords = [
      { body: { intValue: '7'.repeat(MIB) } },
      { body: { intValue: -7 } },
      { attributes: values.map((value, n) => ({ key: `${n}`, value })) },
      { body: { arrayValue: { values } } },
    ]
    const { records, rejected } = await readOtlpJson({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })
    expect([records[0]?.text, rejected]).toEqual(['-7', 1])
    expect(records.slice(1).map(({ text: { length } }) => length)).toEqual([READ_MAX, READ_MAX])
  },
)

test('any bytes are records or an error that says so, in bounded time', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (noise) => {
      try {
        await readOtlpProtobuf(Buffer.from(noise))
      } catch (error) {
        expect((error as Error).name).toBe('InvalidProtobuf')
      }
    }),
    { numRuns: inject('everyCase') ? 1_000 : 200 },
  )
  await fc.assert(fc.asyncProperty(fc.jsonValue(), async (value) => void (await readOtlpJson(value))))
})

const fixed32 = (number: number, value: number) => {
  const body = Buffer.alloc(4)
  body.writeUInt32LE(value)
  return Buffer.concat([tag(number, 5), body])
}

/** As the collector's otlphttp exporter sends a batch: of many sources, each with scopes, schemas and counts that nobody asked for. */
test('a batch of a collector has many resources and scopes, and fields that are not ours', async () => {
  const resource = (name: string) =>
    bytes(
      1,
      bytes(1, pair('host.name', text('web-1'))),
      bytes(1, pair('service.name', text(name))),
      int(2, 3n),
    )
  const scope = bytes(
    1,
    bytes(1, 'io.example.http'),
    bytes(2, '1.2.3'),
    bytes(3, pair('a', text('b'))),
    int(4, 1n),
  )
  const record = (body: string) =>
    bytes(
      2,
      fixed64(1, AT),
      int(2, 9n),
      bytes(3, 'Information'),
      bytes(5, text(body)),
      int(7, 2n),
      fixed32(8, 1),
      bytes(9, Buffer.alloc(16, 7)),
      bytes(10, Buffer.alloc(8, 7)),
      fixed64(11, AT),
      bytes(12, 'http.request'),
    )
  const schema = bytes(3, 'https://opentelemetry.io/schemas/1.27.0')
  const source = (name: string, ...scopes: Buffer[][]) =>
    bytes(1, resource(name), ...scopes.map((records) => bytes(2, scope, ...records, schema)), schema)
  const read = await readOtlpProtobuf(
    Buffer.concat([
      source('shop', [record('one'), record('two')], [record('three')]),
      // Neither a scope nor a record: an empty resource is no error.
      source('idle'),
      source('till', [], [record('four')]),
    ]),
  )
  expect(read.rejected).toBe(0)
  expect(read.records.map(({ service, text: line, level }) => [service, line, level])).toEqual([
    ['shop', 'one {"event.name":"http.request"}', 'info'],
    ['shop', 'two {"event.name":"http.request"}', 'info'],
    ['shop', 'three {"event.name":"http.request"}', 'info'],
    ['till', 'four {"event.name":"http.request"}', 'info'],
  ])
  expect(new Set(read.records.map(({ traceId }) => traceId))).toEqual(new Set(['07'.repeat(16)]))
})

const repeated = (count: number, part: Buffer) => Buffer.alloc(count * part.length, part)

// What comes in such numbers is one step each, and a turn is given after so many.
test.each<[string, number, Buffer]>([
  ['empty resources', 781, repeated(200_000, bytes(1))],
  ['empty scopes', 781, bytes(1, repeated(200_000, bytes(2)))],
  ['a resource of many attributes', 781, bytes(1, bytes(1, repeated(200_000, bytes(1, pair('', text(''))))))],
  ['records of many fields', 100, bytes(1, bytes(2, repeated(100, bytes(2, repeated(4_500, int(2, 9n))))))],
])('protobuf keeps nobody else waiting: %s', async (_what, turns, body) => {
  expect(await turnsDuring(() => readOtlpProtobuf(body))).toBeGreaterThanOrEqual(turns)
})

test('of a record of many fields no more is read than one may have', async () => {
  const reading: Promise<unknown>[] = []
  const steps = await countSteps(['src/cores/logs/read-protobuf.ts', 'src/cores/logs/read-otlp.ts'], () => {
    reading.push(readOtlpProtobuf(request(repeated(900_000, int(8, 0n)))))
  })
  expect(steps).toBeGreaterThan(0)
  // All of them would be half a million.
  expect(steps).toBeLessThan(250_000)
  expect(await Promise.all(reading)).toMatchObject([{ records: [], rejected: 1 }])
})

test.each<[string, number, () => string]>([
  ['empty resources', 781, () => `{"resourceLogs":[${'{},'.repeat(200_000)}{}]}`],
  ['a resource of many keys', 1_697, () => `{"resourceLogs":[{${manyKeys(200_000)}}]}`],
  ['a record of many values', 3_398, () => jsonOf(`{"body":${listsJson(2_000)}}`)],
  [
    'records of many values',
    3_543,
    () =>
      jsonOf(
        Array(400)
          .fill(`{"body":${listsJson(5)}}`)
          .join(','),
      ),
  ],
])('JSON keeps nobody else waiting: %s', async (_what, turns, make) => {
  const body = Buffer.from(make())
  expect(await turnsDuring(async () => readOtlpJson(await parseOtlpJson(body)))).toBeGreaterThanOrEqual(turns)
})

const jsonOf = (records: string) => `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${records}]}]}]}`
const manyKeys = (count: number) => Array.from({ length: count }, (_, n) => `"k${n}":0`).join(',')
/** So many lists of a hundred values each. */
const listsJson = (lists: number) => listJson(lists, listJson(100, '{"boolValue":true}'))
const listJson = (count: number, value: string) =>
  `{"arrayValue":{"values":[${Array(count).fill(value).join(',')}]}}`

test('a list where a text belongs is no record, nor is one of more values than a line has room for', async () => {
  const logRecords = [
    { body: { stringValue: ['x'] } },
    { body: { stringValue: 'x' }, severityNumber: [9] },
    JSON.parse(`{"body":${listsJson(1_000)}}`),
    { body: { stringValue: 'fine' } },
  ]
  const read = await readOtlpJson({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })
  expect([read.records.map((record) => record.text), read.rejected]).toEqual([['fine'], 3])
})

test('numbers with a fraction, bytes and whole numbers of 64 bits keep their value, in protobuf as in JSON', async () => {
  const double = Buffer.alloc(8)
  double.writeDoubleLE(2.5)
  const large = 2n ** 63n - 1n
  const fromProtobuf = await readOtlpProtobuf(
    request(
      Buffer.concat([
        fixed64(1, AT),
        bytes(5, text('x')),
        bytes(6, pair('ratio', fixed64(4, double.readBigUInt64LE()))),
        bytes(6, pair('raw', bytes(7, Buffer.from([1, 2, 3])))),
        bytes(6, pair('id', int(3, large))),
      ]),
    ),
  )
  const attributes = [
    { key: 'ratio', value: { doubleValue: 2.5 } },
    { key: 'raw', value: { bytesValue: 'AQID' } },
    { key: 'id', value: { intValue: String(large) } },
  ]
  const logRecords = [{ timeUnixNano: Number(AT), body: { stringValue: 'x' }, attributes }]
  const fromJson = await readOtlpJson({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })
  for (const { records } of [fromProtobuf, fromJson]) {
    expect(records).toMatchObject([
      { at: new Date(1_794_700_000_123), text: `x {"ratio":2.5,"raw":"AQID","id":"${large}"}` },
    ])
  }
})

test('a record of JSON that is nested too deeply is counted, and the others are kept', async () => {
  const deep = Array.from({ length: 50 }).reduce<object>((inner) => ({ arrayValue: { values: [inner] } }), {
    stringValue: 'x',
  })
  const logRecords = [{ body: deep }, { body: { stringValue: 'fine', intValue: 1 } }]
  expect(await readOtlpJson({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })).toMatchObject({
    records: [{ text: 'fine' }],
    rejected: 1,
  })
})
