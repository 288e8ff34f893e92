/** What the operations of checks depend on. */
import { channel } from 'node:diagnostics_channel'
import type { DataKeys } from '../../trust/data-key.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import type { WithJudge } from './judge-port.ts'

export type ChecksDeps = Storage & WithDirectory & WithJudge & { readonly dataKeys: DataKeys }

const due = channel('svc.check-due')

/** Wakes a worker in the same process, which then need not wait for its next poll. Others find the row. */
export const announceDue = (): void => due.publish(undefined)
