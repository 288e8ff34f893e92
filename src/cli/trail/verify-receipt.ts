/** Verifies a receipt offline: that it is as it was signed, by a key that stands for itself and is vouched for. */
import { verify } from 'node:crypto'
import { receiptText, type ReceiptFile, type SignedReceipt } from '../../contracts/receipt-format.ts'
import { readJson, readJsonObject } from '../../contracts/read-json.ts'
import { isVouched, readKeys } from './verify-trail.ts'

export type ReceiptReport = {
  readonly intact: boolean
  readonly receipt: SignedReceipt | null
  /** In the order in which they signed. */
  readonly keys: readonly { readonly id: string; readonly vouched: boolean }[]
}

/** Undefined: it is no receipt. */
export function readReceipt(text: string): ReceiptFile | undefined {
  const read = readJsonObject(text)
  const isIt = typeof read?.['signed'] === 'string' && typeof read['signature'] === 'string'
  return isIt && Array.isArray(read['keys']) ? (read as ReceiptFile) : undefined
}

export function verifyReceipt({ signed, signature, keys }: ReceiptFile): ReceiptReport {
  // What is no JSON was not signed by us.
  const receipt = (readJson(signed) ?? null) as SignedReceipt | null
  const key = receipt?.receipt === 1 ? readKeys(keys).get(receipt.key) : undefined
  const intact =
    key !== undefined &&
    verify(null, Buffer.from(receiptText(signed)), key.key, Buffer.from(signature, 'base64url'))
  return {
    intact,
    receipt: intact ? receipt : null,
    keys: keys.map((one, at) => ({ id: one.id, vouched: at === 0 || isVouched(one, keys[at - 1]!) })),
  }
}
