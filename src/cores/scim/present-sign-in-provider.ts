/** What people are shown of a sign-in provider. */
import type { SignInProvider } from './dependencies.ts'

export const presentSignInProvider = (provider: SignInProvider) => ({
  name: provider.name,
  title: provider.title,
  issuer: provider.issuerOf(undefined) ?? null,
})
