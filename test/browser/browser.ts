import axe from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { resolveChromium } from './chromium.ts'

/** A page with what it asked for and what it complained of. */
export interface WatchedPage {
  readonly page: Page
  /** Origins of all requests, those included that were stopped. */
  readonly origins: ReadonlySet<string>
  /** Errors and warnings of its console, and exceptions. */
  readonly complaints: readonly string[]
}

/** How long a suite may take to begin with a browser: the first run on a machine downloads 130 MB, while other suites keep it busy. */
export const browserStartMs = 600_000

/** A headless Chromium. The first run on a machine downloads it. */
export async function startBrowser(progress: (line: string) => void = console.log): Promise<Browser> {
  const { executable, env } = await resolveChromium(progress)
  return chromium.launch({
    executablePath: executable,
    env: { ...process.env, ...env },
    args: ['--disable-gpu', '--force-color-profile=srgb', '--hide-scrollbars'],
    timeout: browserStartMs,
  })
}

/** Opens an address. A request to another origin is stopped and noted. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const page = await context.newPage()
  const origins = new Set<string>()
  const complaints: string[] = []
  const own = new URL(url).origin
  await page.route('**/*', async (route) => {
    const { origin } = new URL(route.request().url())
    origins.add(origin)
    await (origin === own ? route.continue() : route.abort())
  })
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  await page.goto(url)
  return { page, origins, complaints }
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string
    readonly impact: string
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
  }[]
}

/** What hinders people with disabilities on this page, as axe finds it: serious and critical findings, a line each. */
export async function seriousViolations(page: Page): Promise<readonly string[]> {
  // Evaluated by the debugger, since the page's own policy lets no other script in.
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<AxeResult>('axe.run(document, { resultTypes: ["violations"] })')
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`))
}
