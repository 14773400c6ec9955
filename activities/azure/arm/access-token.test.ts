import { describe, expect, test } from 'vitest'
import { tokenErrorText, tryToken } from './access-token.ts'

const traceback = `ERROR: The command failed with an unexpected error. Here is the traceback:
ERROR: No module named 'msal_extensions'
Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/knack/cli.py", line 233, in invoke
    cmd_result = self.invocation.execute(args)
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/azure/cli/core/auth/identity.py", line 12, in <module>
    from msal_extensions import FilePersistence
ModuleNotFoundError: No module named 'msal_extensions'
To check existing issues, please visit: https://github.com/Azure/azure-cli/issues
`

describe('the error of a credential', () => {
  test.each([
    ['a crash of az', traceback, "the Azure CLI crashed: ModuleNotFoundError: No module named 'msal_extensions'"],
    [
      'a refusal that az reports',
      'ERROR: AADSTS50076: Due to a configuration change\nmade by your administrator, you must use MFA.',
      'ERROR: AADSTS50076: Due to a configuration change made by your administrator, you must use MFA.',
    ],
    [
      'a traceback that is cut',
      'Traceback (most recent call last):\n  File "a"',
      'Traceback (most recent call last): File "a"',
    ],
  ])('%s', (_what, text, expected) => {
    expect(tokenErrorText(new Error(text))).toBe(expected)
  })

  test.each([
    [traceback, /^az account get-access-token, which shows where/],
    ['endpoints_resolution_error: See https://aka.ms/msal', /AZURE_AUTHORITY_HOST/],
    ["Please run 'az login' from a command prompt", /^az login$/],
  ])('has a remedy', async (text, remedy) => {
    const credential = { getToken: () => Promise.reject(new Error(text)) }
    const request = { credential, kind: 'Azure CLI', settings: {}, scope: 's', namespace: 'joiner' } as const
    expect(await tryToken(request as never)).toMatchObject({ kind: 'failed', remedy: expect.stringMatching(remedy) })
  })
})
