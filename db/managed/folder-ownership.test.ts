import { expect, test } from 'vitest'
import { nextOwnership } from './folder-ownership.ts'
import type { OpenFolder, OwnershipEffect, OwnershipInput, OwnershipState } from './folder-ownership.ts'

const folder: OpenFolder = { databases: {} as never, releaseLock() {} }
const opened = { opened: folder }
const [NOT_OWNER, OPENING, CLOSING, CLOSED] = (['not owner', 'opening', 'closing', 'closed'] as const).map(
  (phase): OwnershipState => ({ phase }),
) as [OwnershipState, OwnershipState, OwnershipState, OwnershipState]
const OWNER: OwnershipState = { phase: 'owner', folder }

const ROWS: [OwnershipState, OwnershipInput, OwnershipState, OwnershipEffect[]][] = [
  [NOT_OWNER, 'acquire', OPENING, ['open folder']],
  [NOT_OWNER, 'close', CLOSED, []],
  [OPENING, 'acquire', OPENING, []],
  [OPENING, 'lock held elsewhere', NOT_OWNER, []],
  [OPENING, 'failed', NOT_OWNER, []],
  [OPENING, opened, OWNER, ['start owner jobs']],
  [OPENING, 'close', CLOSING, []],
  [OWNER, 'acquire', OWNER, []],
  [OWNER, 'close', CLOSED, [{ closeFolder: folder }]],
  [CLOSING, 'acquire', CLOSING, []],
  [CLOSING, 'close', CLOSING, []],
  [CLOSING, 'lock held elsewhere', CLOSED, []],
  [CLOSING, 'failed', CLOSED, []],
  [CLOSING, opened, CLOSED, [{ closeFolder: folder }]],
  [CLOSED, 'acquire', CLOSED, []],
  [CLOSED, 'close', CLOSED, []],
]

test.each(ROWS)('%j on %j', (state, input, next, effects) => {
  expect(nextOwnership(state, input)).toEqual([next, effects])
})
