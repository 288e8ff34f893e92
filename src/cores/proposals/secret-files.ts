/** Globs of files that hold secrets by their name: no run reads them, and no proposal touches them. */
export const SECRET_FILES: readonly string[] = [
  '.env*',
  '*.env',
  '*.pem',
  '*.key',
  '*.p12',
  '*.pfx',
  '*.jks',
  '*.keystore',
  '*.kdbx',
  'id_rsa*',
  'id_ed25519*',
  'id_ecdsa*',
  '.netrc',
  '.htpasswd',
]
