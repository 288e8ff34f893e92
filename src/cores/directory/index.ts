/** What the directory core exports. */
export {
  memberKey,
  type AddressHolder,
  type Directory,
  type Member,
  type MemberKey,
  type WithDirectory,
} from './directory.ts'
export { localDirectory } from './local-directory.ts'
export { rememberValidation } from './remember-validation.ts'
export { validatedDirectory } from './validated-directory.ts'
