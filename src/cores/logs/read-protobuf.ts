/**
 * The fields of one protobuf message, by number. Only the wire format: what a field means is its reader's business, and
 * bytes that do not follow the format throw.
 */

export type ProtobufField = {
  readonly number: number
  /** Varints and fixed numbers; 64 bits do not fit a number. */
  readonly value: bigint
  /** Of a length-delimited field; empty for the others. */
  readonly bytes: Buffer
}

export class InvalidProtobuf extends Error {
  override readonly name = 'InvalidProtobuf'
}

const NONE = Buffer.alloc(0)

export function* readProtobuf(message: Buffer): Generator<ProtobufField> {
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = message[at++]
      if (byte === undefined) throw new InvalidProtobuf('a number is cut off')
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asUintN(64, value)
    }
    throw new InvalidProtobuf('a number is too long')
  }
  const take = (length: number): Buffer => {
    if (length > message.length - at) throw new InvalidProtobuf('a field is cut off')
    at += length
    return message.subarray(at - length, at)
  }
  while (at < message.length) {
    const key = varint()
    const number = Number(key >> 3n)
    switch (Number(key & 7n)) {
      case 0:
        yield { number, value: varint(), bytes: NONE }
        break
      case 1:
        yield { number, value: take(8).readBigUInt64LE(), bytes: NONE }
        break
      case 2: {
        const length = varint()
        if (length > BigInt(message.length)) throw new InvalidProtobuf('a field is cut off')
        yield { number, value: 0n, bytes: take(Number(length)) }
        break
      }
      case 5:
        yield { number, value: BigInt(take(4).readUInt32LE()), bytes: NONE }
        break
      default:
        throw new InvalidProtobuf('a field has an unknown type')
    }
  }
}
