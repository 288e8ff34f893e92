import { expect, test } from 'vitest'
import fc from 'fast-check'
import { readOtlpJson, readOtlpProtobuf } from './read-otlp.ts'

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

test('protobuf and JSON of the same records are the same records', () => {
  const trace = '0af7651916cd43dd8448eb211c80319c'
  const fromProtobuf = readOtlpProtobuf(
    request(
      Buffer.concat([
        fixed64(1, AT),
        int(2, 17n),
        bytes(5, text('boom größe')),
        bytes(6, pair('exception.stacktrace', text('at f'))),
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
  const fromJson = readOtlpJson({
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
                attributes: [{ key: 'exception.stacktrace', value: { stringValue: 'at f' } }],
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
        text: 'boom größe\nat f',
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

test('a record that cannot be read is counted, and the others are kept', () => {
  const deep = Array.from({ length: 50 }).reduce<Buffer>((inner) => bytes(5, bytes(1, inner)), text('x'))
  expect(readOtlpProtobuf(request(bytes(5, text('fine')), bytes(5, deep), Buffer.alloc(0)))).toMatchObject({
    records: [{ text: 'fine', level: 'info', at: null }],
    rejected: 2,
  })
  const logRecords = [{ body: { stringValue: 'fine' } }, { body: { intValue: 'many' } }, null, 'x']
  expect(readOtlpJson({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })).toMatchObject({
    records: [{ text: 'fine' }],
    rejected: 3,
  })
})

test('any bytes are records or an error that says so, in bounded time', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (noise) => {
      try {
        readOtlpProtobuf(Buffer.from(noise))
      } catch (error) {
        expect((error as Error).name).toBe('InvalidProtobuf')
      }
    }),
    { numRuns: 1000 },
  )
  fc.assert(fc.property(fc.jsonValue(), (value) => void readOtlpJson(value)))
})
