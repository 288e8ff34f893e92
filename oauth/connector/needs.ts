/** What the connector authorization server needs, by name. */
import type { GuardedFetch } from '../../src/cores/needs.ts'
import type { LivenessNeeds } from '../../src/cores/grants/index.ts'
import type { SessionNeeds } from '../../src/cores/identity/index.ts'
import type { Logger } from '../../src/observe/log.ts'

export type ConnectorNeeds = SessionNeeds &
  LivenessNeeds & {
    readonly log: Logger
    readonly issuer: URL
    readonly mcpUrl: URL
    /** Where sign-in sends people; they come back to the consent page with a code. */
    readonly signInUrl: URL
    readonly jwtSecret: string
    readonly jwtSigningKey: string
    readonly guardedFetch: GuardedFetch
    readonly loopbackPorts: 'portless' | 'exact' | 'any'
    readonly registrationOpen: boolean
    readonly refreshGraceSeconds: number
    readonly privateSchemes: readonly string[]
  }
