import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  librariesIn,
  type Packaged,
  type Program,
  type Progress,
  resolvePackaged,
  versionOf,
} from '../../deploy/local/debian/packages.ts'
import { cacheFolder } from '../../deploy/local/server-binaries.ts'

const variable = 'JOINER_CHROMIUM_BINARY'

const packaged: Packaged = {
  name: 'chromium',
  // Inter draws the page as most desktops do; DejaVu has what it lacks.
  packages: ['chromium', 'fonts-inter', 'fonts-dejavu-core'],
  megabytes: 130,
  versionArgs: ['--version'],
  remedy: `install Chromium or Google Chrome and put it on the PATH, or name it in ${variable}`,
  unpacked: (root) => ({
    executable: join(root, 'usr/lib/chromium/chromium'),
    env: { LD_LIBRARY_PATH: librariesIn(root), FONTCONFIG_FILE: join(root, 'fonts.conf') },
  }),
  complete: (root, target) =>
    writeFile(join(root, 'fonts.conf'), fonts(join(target, 'usr/share/fonts'), join(cacheFolder('chromium'), 'fonts'))),
}

/**
 * Finds a Chromium: in the environment (`JOINER_CHROMIUM_BINARY`), on the PATH, else as Debian's package.
 * Errors: none is found, or it does not start.
 */
export async function resolveChromium(progress: Progress): Promise<Program> {
  const starts = async (executable: string) =>
    (await versionOf({ executable, env: {} }, packaged.versionArgs)) !== undefined
  const named = process.env[variable]
  if (named !== undefined && named !== '') {
    if (!(await starts(named)))
      throw new Error(`${variable}="${named}": it does not start; correct the path, or unset it`)
    return { executable: named, env: {} }
  }
  for (const command of ['chromium', 'google-chrome']) {
    const path = await pathOf(command)
    if (path !== undefined && (await starts(path))) return { executable: path, env: {} }
  }
  return resolvePackaged(packaged, progress)
}

/** Where a command is on the PATH. */
async function pathOf(command: string): Promise<string | undefined> {
  for (const folder of (process.env['PATH'] ?? '').split(':')) {
    const path = join(folder, command)
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      return path
  }
  return undefined
}

const fonts = (folder: string, cache: string) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>${folder}</dir>
  <cachedir>${cache}</cachedir>
  <alias binding="strong"><family>system-ui</family><prefer><family>Inter</family><family>DejaVu Sans</family></prefer></alias>
  <alias binding="strong"><family>sans-serif</family><prefer><family>Inter</family><family>DejaVu Sans</family></prefer></alias>
  <alias binding="strong"><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
`
