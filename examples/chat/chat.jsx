// A chat with a model that runs in this page. It streams, stops, and survives a reload.
import { useEffect, useRef, useState } from "react";
import { createRoot } from "react-dom/client";
import { keepSession, openModel } from "./model.js";
import "./style.css";

/** When a chat is as long as the model was trained for, its context is extended by YaRN. */
const ANSWER = { maxTokens: 200, temperature: 0, whenFull: "extend" };
const STORED = "ropewalk-chat"; // messages and the model's address, in localStorage
const stored = JSON.parse(localStorage.getItem(STORED) ?? '{"messages":[]}');

function Chat() {
  const [messages, setMessages] = useState(stored.messages);
  const [source, setSource] = useState(stored.source); // undefined: the example model
  const [opened, setOpened] = useState(); // { session, about }
  const [step, setStep] = useState(); // what is running: { title, done }
  const [problem, setProblem] = useState("");
  const [text, setText] = useState("");
  const answering = useRef();

  useEffect(() => {
    const opening = new AbortController();
    const { signal } = opening;
    const onProgress = ({ stage, loaded, total }) => {
      if (stage === "weights" && !signal.aborted) setStep({ title: "Loading the model", done: loaded / total });
    };
    setOpened();
    setProblem("");
    setStep({ title: "Loading the model" });
    openModel(source, { signal, onProgress })
      .then((result) => !signal.aborted && setOpened(result))
      .catch((error) => !signal.aborted && setProblem(error.message))
      .finally(() => !signal.aborted && setStep());
    return () => opening.abort();
  }, [source]);

  useEffect(() => {
    const address = typeof source === "string" ? source : undefined; // dropped files are gone after a reload
    localStorage.setItem(STORED, JSON.stringify({ messages, source: address }));
  }, [messages, source]);

  useEffect(() => {
    scrollTo(0, document.body.scrollHeight);
  }, [messages]);

  async function send(event) {
    event.preventDefault();
    const asked = [...messages, { role: "user", content: text }];
    const { signal } = (answering.current = new AbortController());
    const onProgress = ({ done, total }) => setStep({ title: "Reading", done: done / total });
    let answer = "";
    setText("");
    setProblem("");
    setMessages(asked);
    setStep({ title: "Reading" });
    try {
      // all messages, each time: only what the session hasn't read is read
      for await (const piece of opened.session.chat(asked, { ...ANSWER, signal, onProgress })) {
        answer += piece.text;
        setMessages([...asked, { role: "assistant", content: answer }]);
        setStep({ title: "Answering" });
      }
    } catch (error) {
      if (!signal.aborted) setProblem(error.message);
    }
    await keepSession(opened.session).catch((error) => setProblem(error.message));
    setStep();
  }

  function drop(event) {
    event.preventDefault();
    answering.current?.abort();
    if (event.dataTransfer.files.length > 0) setSource([...event.dataTransfer.files]);
  }

  return (
    <main onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <header>
        <h1>Chat</h1>
        <button onClick={() => setMessages([])} disabled={step !== undefined || messages.length === 0}>
          New chat
        </button>
      </header>
      <ol aria-live="polite">
        {messages.map(({ role, content }, i) => (
          <li key={i} className={role}>
            {content.trim()}
          </li>
        ))}
      </ol>
      {messages.length === 0 && (
        <p className="hint">Tell it: “The red ball is in the garden. Where is the red ball?”</p>
      )}
      {problem && <p role="alert">{problem}</p>}
      <form onSubmit={send}>
        <input value={text} onChange={(event) => setText(event.target.value)} aria-label="Message" autoFocus />
        {step?.title === "Answering" || step?.title === "Reading" ? (
          <button type="button" onClick={() => answering.current.abort()}>
            Stop
          </button>
        ) : (
          <button disabled={opened === undefined || text.trim() === ""}>Send</button>
        )}
      </form>
      <footer>
        {step && <progress value={step.done} aria-label={step.title} />} <output>{step?.title ?? opened?.about}</output>
        <OpenModel onSource={setSource} />
      </footer>
    </main>
  );
}

/** Takes another model: its address, or a file. */
function OpenModel({ onSource }) {
  const open = (form) => onSource(form.get("address").trim() || undefined);
  return (
    <details>
      <summary>Another model</summary>
      <form action={open}>
        <input name="address" placeholder="https://…/model.gguf" aria-label="Address of a GGUF file" />
        <button>Open</button>
      </form>
      <p>
        Or drop a GGUF file on the page, or{" "}
        <input type="file" aria-label="GGUF file" onChange={(event) => onSource([...event.target.files])} />
      </p>
    </details>
  );
}

createRoot(document.getElementById("app")).render(<Chat />);
