import { expect, it } from 'vitest'
import { resourceOf } from './access-tokens.ts'

it.each([
  ['https://management.azure.com/.default', 'https://management.azure.com'],
  ['https://management.azure.com//.default openid offline_access profile', 'https://management.azure.com'],
  ['https://management.core.windows.net/', 'https://management.core.windows.net'],
  ['', ''],
])('a token for the scopes "%s" is for %s', (scopes, resource) => {
  expect(resourceOf(scopes)).toBe(resource)
})
