/** What the connector authorization server needs, by name. */
import type { GuardedFetch } from '../../src/cores/dependencies.ts'
import type { LivenessDeps } from '../../src/cores/grants/index.ts'
import type { ProviderKeys } from '../../src/cores/identity-provider/index.ts'
import type { SessionDeps } from '../../src/cores/identity/index.ts'
import type { Observation } from '../../src/http/service-app.ts'
import type { Logger } from '../../src/observe/log.ts'

export type ConnectorDeps = SessionDeps &
  LivenessDeps &
  Pick<Observation, 'deadlineMs' | 'untilEnded'> & {
    readonly log: Logger
    readonly issuer: URL
    readonly mcpUrl: URL
    /** The sign-in page, which redirects back to the consent page with a code. */
    readonly signInUrl: URL
    readonly jwtSecret: string
    readonly jwtSigningKey: string
    readonly guardedFetch: GuardedFetch
    readonly loopbackPorts: 'portless' | 'exact' | 'any'
    readonly registrationOpen: boolean
    /** Whether the client id may be the URL of a metadata document. */
    readonly documentsOpen: boolean
    readonly providerKeys: ProviderKeys
    readonly refreshGraceSeconds: number
    readonly privateSchemes: readonly string[]
  }
