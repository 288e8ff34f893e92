/** What the operations of checks depend on. */
import type { DataKeys } from '../../trust/data-key.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import type { WithJudge } from './judge-port.ts'

export type ChecksDeps = Storage & WithDirectory & WithJudge & { readonly dataKeys: DataKeys }
