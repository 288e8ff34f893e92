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

class InvalidProtobuf extends Error {
  override readonly name = 'InvalidProtobuf'
}

const NONE = Buffer.alloc(0)

/**
 * `count` is called for each field and may throw: two bytes make one, so a few megabytes hold millions. With `wanted`
 * only messages of this number are given, and what else there is costs next to nothing.
 */
export function* readProtobuf(message: Buffer, count: () => void, wanted?: number): Generator<ProtobufField> {
  let at = 0
  const next = (): number => {
    const byte = message[at++]
    if (byte === undefined) throw new InvalidProtobuf('a number is cut off')
    return byte
  }
  /** Of 32 bits, as keys and lengths are, and most numbers. */
  const small = (): number => {
    let value = 0
    for (let factor = 1; factor <= 2 ** 28; factor *= 128) {
      const byte = next()
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
    }
    throw new InvalidProtobuf('a number is too long')
  }
  const skipVarint = (): void => {
    for (let bytes = 0; bytes < 10; bytes++) if (next() < 0x80) return
    throw new InvalidProtobuf('a number is too long')
  }
  const varint = (): bigint => {
    const start = at
    skipVarint()
    if (at - start <= 4) {
      at = start
      return BigInt(small())
    }
    let value = 0n
    for (let n = at - 1; n >= start; n--) value = (value << 7n) | BigInt(message[n]! & 0x7f)
    return BigInt.asUintN(64, value)
  }
  const take = (length: number): Buffer => {
    skip(length)
    return message.subarray(at - length, at)
  }
  const skip = (length: number): void => {
    if (length > message.length - at) throw new InvalidProtobuf('a field is cut off')
    at += length
  }
  while (at < message.length) {
    count()
    const key = small()
    const number = Math.floor(key / 8)
    switch (key % 8) {
      case 0:
        if (wanted === undefined) yield { number, value: varint(), bytes: NONE }
        else skipVarint()
        break
      case 1:
        if (wanted === undefined) yield { number, value: take(8).readBigUInt64LE(), bytes: NONE }
        else skip(8)
        break
      case 2:
        if (wanted === undefined || number === wanted) yield { number, value: 0n, bytes: take(small()) }
        else skip(small())
        break
      case 5:
        if (wanted === undefined) yield { number, value: BigInt(take(4).readUInt32LE()), bytes: NONE }
        else skip(4)
        break
      default:
        throw new InvalidProtobuf('a field has an unknown type')
    }
  }
}
