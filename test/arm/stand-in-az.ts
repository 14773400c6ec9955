import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A token of ARM, as the simulator gives it to somebody. */
interface IssuedToken {
  readonly accessToken: string
  /** Epoch seconds. */
  readonly expiresOn: number
}

/**
 * A stand-in for the Azure CLI, which is not installed where tests run. It knows the one command that the Azure SDK calls, `az account get-access-token`,
 * checks its arguments as the CLI does, and answers in its documented shape (https://learn.microsoft.com/cli/azure/account#az-account-get-access-token).
 */
const script = `#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/calls"
case "$*" in
  "account get-access-token --output json --resource https://management.azure.com") ;;
  *) echo "ERROR: unrecognized arguments: $*" >&2; exit 2 ;;
esac
if [ -f "$here/refusal" ]; then cat "$here/refusal" >&2; exit 1; fi
cat "$here/answer"
`

/** What the CLI prints when its login has ended. */
const expired = `ERROR: AADSTS700082: The refresh token has expired due to inactivity. The token was issued on 2026-08-01T08:00:00.0000000Z and was inactive for 90.00:00:00. Trace ID: 00000000-0000-4000-8000-00000000000a
Interactive authentication is needed. Please run:
az login
`

export class StandInAz {
  /** Folder to have on the PATH. */
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  static async install(): Promise<StandInAz> {
    const folder = await mkdtemp(join(tmpdir(), 'joiner-stand-in-az-'))
    await writeFile(join(folder, 'az'), script)
    await chmod(join(folder, 'az'), 0o755)
    return new StandInAz(folder)
  }

  /** Logs somebody in. */
  async logIn({ accessToken, expiresOn }: IssuedToken): Promise<void> {
    const answer = {
      accessToken,
      expiresOn: new Date(expiresOn * 1000).toISOString().replace('T', ' ').replace('Z', '000'),
      expires_on: expiresOn,
      subscription: '00000000-0000-4000-8000-000000000001',
      tenant: '00000000-0000-4000-8000-000000000002',
      tokenType: 'Bearer',
    }
    await rm(join(this.folder, 'refusal'), { force: true })
    await writeFile(join(this.folder, 'answer'), JSON.stringify(answer, null, 2))
  }

  /** The login ends. */
  expire(): Promise<void> {
    return writeFile(join(this.folder, 'refusal'), expired)
  }

  /** Arguments of all calls. */
  async calls(): Promise<readonly string[]> {
    return (await readFile(join(this.folder, 'calls'), 'utf8')).trim().split('\n')
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true })
  }
}
