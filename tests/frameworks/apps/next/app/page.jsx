"use client";

import { useEffect, useState } from "react";
import { useRopewalk } from "./use_ropewalk.js";

export default function Home() {
  const [results, setResults] = useState("");
  useEffect(() => {
    void useRopewalk(new URL(location.href).searchParams.get("model")).then(setResults);
  }, []);
  return <output>{results}</output>;
}
