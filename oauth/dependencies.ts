/** What the auth service needs, by name. */
import type { WithOldReads } from '../src/http/old-reads.ts'
import type { WithDirectory } from '../src/cores/directory/index.ts'
import type { ProviderDeps } from '../src/cores/identity-provider/index.ts'
import type { LinkDeps, PasswordDeps, SignInProvider, ValidationDeps } from '../src/cores/identity/index.ts'
import type { FoundingDeps, InvitationDeps } from '../src/cores/organizations/index.ts'
import type { ScimDeps } from '../src/cores/scim/index.ts'
import type { Observation } from '../src/http/service-app.ts'

export type AuthDeps = Observation &
  WithOldReads &
  WithDirectory &
  PasswordDeps &
  ValidationDeps &
  InvitationDeps &
  FoundingDeps &
  LinkDeps &
  ProviderDeps &
  ScimDeps & {
    /** Whether the client id may be the URL of a metadata document. */
    readonly documentsOpen: boolean
    readonly operatorToken: string | undefined
    readonly providers: readonly SignInProvider[]
    /** Where sign-in may redirect to, with a code. */
    readonly returnBases: readonly URL[]
    readonly appUrl: URL
  }
