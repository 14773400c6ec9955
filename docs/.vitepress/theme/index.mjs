// The default theme, with pictures that are written in Mermaid.
import mermaidUrl from '@mermaid-js/tiny/dist/mermaid.tiny.js?url'
import { onContentUpdated } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import './pictures.css'

/** The file is a classic script: as a module it would not find the global that it makes. */
function loadMermaid() {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = mermaidUrl
    script.onload = () => resolve(globalThis.mermaid)
    script.onerror = () => reject(new Error(`${mermaidUrl} did not load, so pictures stay text; reload the page`))
    document.head.append(script)
  })
}

let mermaid

export default {
  extends: DefaultTheme,
  setup() {
    onContentUpdated(async () => {
      if (document.querySelector('pre.mermaid') === null) return
      mermaid ??= loadMermaid()
      const drawer = await mermaid
      drawer.initialize({ startOnLoad: false, theme: 'neutral' })
      await drawer.run({ querySelector: 'pre.mermaid' })
    })
  },
}
