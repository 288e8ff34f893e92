/**
 * Whose token this is, and what it may do at this moment. Membership, role and switches are read on every call,
 * so a removal, a lowered role or "agents off" acts on the very next one.
 */
import { ACTOR_ASSERTION_TYPE } from '../../trust/actor-assertion.ts'
import { isApiToken } from '../../trust/api-token.ts'
import { jwtType } from '../../trust/hs256.ts'
import { isServiceAccountToken } from '../../trust/service-account-token.ts'
import { CLI_TOKEN_TYPE, USER_TOKEN_TYPE } from '../../trust/user-token.ts'
import { validateActor } from './validate-actor.ts'
import { validateApiToken } from './validate-api-token.ts'
import { validateCliSession } from './validate-cli-session.ts'
import { validateUser } from './validate-user.ts'
import { validateWorkload } from './validate-workload.ts'
import { refused, type Presented, type TokenValidation, type ValidationDeps } from './validation.ts'

export const validateToken =
  (deps: ValidationDeps) =>
  async (presented: Presented): Promise<TokenValidation> => {
    if (isApiToken(presented.token)) return validateApiToken(deps, presented)
    switch (jwtType(presented.token)) {
      case USER_TOKEN_TYPE:
        return validateUser(deps, presented)
      case CLI_TOKEN_TYPE:
        return validateCliSession(deps, presented)
      case ACTOR_ASSERTION_TYPE:
        return validateActor(deps, presented)
      case undefined:
      default:
        // The cluster gives its tokens no type of their own.
        if (isServiceAccountToken(presented.token)) return validateWorkload(deps, presented)
        throw refused()
    }
  }
