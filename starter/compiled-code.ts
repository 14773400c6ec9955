import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { enableCompileCache, flushCompileCache, getCompileCacheDir } from 'node:module'
import { homedir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What an image brings along, compiled as it was built. A checkout and the npm package have none. */
const shipped = join(import.meta.dirname, '..', 'compiled')
const beside = fileURLToPath(new URL('../node_modules/.cache/joiner', import.meta.url))
const kept = process.env['NODE_COMPILE_CACHE'] ?? beside

/** V8 takes the code of another process whose version and flags were the same. */
function fitting(): string {
  const flags = [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(' ')].filter((flag) => flag !== '')
  return [process.version, process.arch, ...flags].join('_').replaceAll('/', '_')
}

/**
 * Lets a command that answers and ends have room for its young objects at once: V8 begins with a mebibyte of it, and copies what is alive each time that
 * is full, a tenth of the processor time of `joiner validate`. Before any code is read that was compiled: V8 takes none of other flags.
 */
export function expectShortLife(): void {
  process.getBuiltinModule('node:v8').setFlagsFromString('--semi-space-growth-factor=16')
}

/**
 * Keeps what is compiled in the folder NODE_COMPILE_CACHE, for the next start and for threads, and begins with what came with the image. Where nothing
 * can be kept, all is compiled again. Returns what an operator should know of it: that what came does not fit this process.
 */
export function useCompiledCode(): string | undefined {
  let { directory, message } = enableCompileCache(kept)
  // Who installed a package for everybody alone writes beside it.
  if (directory === undefined && kept === beside)
    ({ directory, message } = enableCompileCache(join(homedir(), '.cache', 'joiner')))
  // Threads ask their environment.
  process.env['NODE_COMPILE_CACHE'] = directory === undefined ? kept : dirname(directory)
  if (!existsSync(shipped)) return undefined
  const here = fitting()
  if (!existsSync(join(shipped, here)))
    return `compiled code in ${shipped} is not of this Node and its flags (${here}): each first start of a container takes longer`
  if (directory === undefined)
    return `compiled code in ${shipped} is not used, since ${kept} cannot be written (${message}): each start takes longer`
  try {
    // Node's name of its folder follows from the machine and the user as well, which compiled code does not. What it has of its own stays.
    if (readdirSync(directory).length > 0) return undefined
    for (const name of readdirSync(join(shipped, here))) symlinkSync(join(shipped, here, name), join(directory, name))
  } catch (error) {
    return `compiled code in ${shipped} is not used: ${String(error)}; each start takes longer`
  }
  return undefined
}

/** Puts what this process has compiled where a program looks for what came with it (see {@link useCompiledCode}). Returns its place. */
export function shipCompiledCode(): string {
  flushCompileCache()
  const directory = getCompileCacheDir()
  if (directory === undefined) throw new Error(`compiled code cannot be kept in ${kept}`)
  const target = join(shipped, fitting())
  rmSync(target, { recursive: true, force: true })
  mkdirSync(dirname(target), { recursive: true })
  renameSync(directory, target)
  // Node makes them for the user alone who builds, and another one runs the image.
  chmodSync(target, 0o755)
  for (const name of readdirSync(target)) chmodSync(join(target, name), 0o644)
  return relative(process.cwd(), target)
}
