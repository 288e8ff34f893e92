/** What the auth service needs, by name. */
import type {
  LinkNeeds,
  PasswordNeeds,
  SignInProvider,
  ValidationNeeds,
} from '../src/cores/identity/index.ts'
import type { InvitationNeeds } from '../src/cores/organizations/index.ts'
import type { Observation } from '../src/http/service-app.ts'

export type AuthNeeds = Observation &
  PasswordNeeds &
  ValidationNeeds &
  InvitationNeeds &
  LinkNeeds & {
    readonly operatorToken: string | undefined
    readonly providers: readonly SignInProvider[]
    /** Where a signed-in person may be sent back to, with a code. */
    readonly returnBases: readonly URL[]
    readonly appUrl: URL
  }
