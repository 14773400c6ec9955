// npm run build-ui: bundles the page of `joiner ui` from starter/ui/page/ into starter/ui/dist/.
import { join, relative } from 'node:path'
import { build } from 'vite'
import { buildOnce, root } from './build-once.ts'

const ui = join(root, 'starter/ui')

/** Bundles the page unless it is there, built from these very sources. Returns its folder, where the server finds it. */
export function buildUi(): Promise<string> {
  return buildOnce({
    folder: join(ui, 'dist'),
    sources: [
      'starter/ui/page/**/*.{ts,tsx,css,html,svg}',
      'starter/document/words.ts',
      'core/values/{printable,shortened}.ts',
      'deploy/build-ui.ts',
    ],
    build: (folder) =>
      build({
        root: join(ui, 'page'),
        configFile: false,
        logLevel: 'warn',
        base: './',
        oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
        build: {
          outDir: folder,
          emptyOutDir: true,
          target: 'es2023',
          // Everything is a file of the page's origin: its Content-Security-Policy allows nothing else.
          assetsInlineLimit: 0,
          modulePreload: false,
        },
      }),
  })
}

if (import.meta.main) console.log(`the page is in ${relative(process.cwd(), await buildUi())}`)
