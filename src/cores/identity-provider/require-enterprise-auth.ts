import { ServiceError } from '../../contracts/errors.ts'
import type { ProviderDeps } from './dependencies.ts'

export function requireEnterpriseAuth({ enterpriseAuth }: Pick<ProviderDeps, 'enterpriseAuth'>): void {
  if (enterpriseAuth) return
  throw new ServiceError('CONFLICT', 'Identity providers are turned off on this installation', {
    hint: 'The operator sets ENTERPRISE_AUTH=on.',
  })
}
