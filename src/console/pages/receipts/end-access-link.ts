/** The way to end access with a receipt, from the page of whose access it is. */
import type { ReceiptOf } from '../../../contracts/receipt-format.ts'
import { linkButton } from '../../../pages/parts.ts'

export const RECEIPTS_PATH = '/console/receipts'

export const endAccessLink = (of: ReceiptOf, id?: string) =>
  linkButton(
    `${RECEIPTS_PATH}/end?${new URLSearchParams({ of, ...(id !== undefined && { id }) }).toString()}`,
    'End with receipt',
    'quiet',
  )
