import { render } from 'preact'
import { App } from './app.tsx'
import { startClock } from './state/clock.ts'
import { readSession } from './state/session.ts'
import { follow } from './state/stream.ts'

const root = document.querySelector('#page')
if (root === null) throw new Error('index.html has no element #page')
render(<App />, root)
startClock()
if (await readSession()) follow(() => void readSession())
